/**
 * Loads the app whose functions replay runs, with the `holdfast/testing` that it has itself. Runs in the process that is
 * there for nothing else (`replay-process.ts`).
 */
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError, messageOf, systemTimers } from "@holdfast/core";
import { durationText } from "../../config/print-config.ts";
import type { LoadOptions, ReplayResult } from "./replay-messages.ts";

interface LoadedReplay {
  readonly functions: readonly string[];
  run(exported: unknown): Promise<ReplayResult>;
}

interface TestingModule {
  readonly Replay: { open(importApp: () => Promise<unknown>): Promise<LoadedReplay> };
  readonly readExportedRun: (line: string) => { readonly run: { readonly id: string } };
}

export interface AppModule {
  readonly functions: readonly string[];
  /** Of one line of an export: the id of its run, and what replays that. */
  read(line: string): { readonly runId: string; replay(): Promise<ReplayResult> };
}

/** @throws HoldfastError `REPLAY_APP_INVALID` */
export async function loadApp(options: LoadOptions, onLoading: () => void): Promise<AppModule> {
  const { app } = options;
  const url = pathToFileURL(resolve(app));
  const testing = await testingOf(url, app);
  refuseNetwork();
  const replay = await openReplay(options, testing.Replay, () => {
    onLoading();
    return import(url.href);
  });
  return {
    functions: replay.functions,
    read: (line) => {
      const exported = testing.readExportedRun(line);
      return { runId: exported.run.id, replay: () => replay.run(exported) };
    },
  };
}

/**
 * Where the module connects, what it serves is what it gives there: a function that it only exports has no worker. So its
 * exports are kept from the replay until it is known that it connects nothing.
 */
async function openReplay(
  options: LoadOptions,
  replay: TestingModule["Replay"],
  importApp: () => Promise<unknown>,
): Promise<LoadedReplay> {
  let exported: unknown;
  const open = (load: () => Promise<unknown>): Promise<LoadedReplay> =>
    withinLimits(options, () => replay.open(load).catch((cause: unknown) => Promise.reject(notLoaded(options, cause))));
  try {
    return await open(async () => {
      exported = await importApp();
    });
  } catch (error) {
    if (exported === undefined) throw error;
    return open(async () => exported);
  }
}

function notLoaded({ app }: LoadOptions, cause: unknown): HoldfastError {
  if (isCoded(cause)) return refused(messageOf(cause), cause);
  return refused(`${app} cannot be loaded: ${whyNotLoaded(app, cause)}`, cause);
}

const WHAT_TO_DO =
  "Functions are known once connect() was called, or once the module is evaluated and exports them: " +
  "let it do so before it waits";

/** A module that waits at its top level may do so for ever. */
async function withinLimits<T>({ app, loadTimeoutMs }: LoadOptions, load: () => Promise<T>): Promise<T> {
  let isIdle = false;
  let onIdle = (): void => {};
  const limits = new Promise<never>((_resolve, reject) => {
    systemTimers.set(
      loadTimeoutMs,
      () => {
        const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
        const why = `it waits for something that did not come (open: ${open})`;
        const limit = "or give it longer with --load-timeout.";
        reject(refused(`${app} was not loaded within ${durationText(loadTimeoutMs)}: ${why}. ${WHAT_TO_DO}, ${limit}`));
      },
      { unref: true },
    );
    onIdle = () => {
      if (isIdle) reject(refused(`${app} never ends loading: it waits for something that cannot come. ${WHAT_TO_DO}.`));
      isIdle = true;
      // What else hears that nothing is left to do may have something: whether it does is known a turn later.
      setImmediate(() => {});
    };
    process.on("beforeExit", onIdle);
  });
  try {
    return await Promise.race([load(), limits]);
  } finally {
    process.off("beforeExit", onIdle);
  }
}

const refused = (message: string, cause?: unknown): HoldfastError =>
  new HoldfastError("REPLAY_APP_INVALID", message, { cause });

export function whyNotLoaded(app: string, cause: unknown): string {
  const said = messageOf(cause);
  if (!/\.[cm]?tsx?$/.test(app)) return said;
  const loader = "give it a loader, NODE_OPTIONS='--import tsx'";
  if (said.includes("Unknown file extension")) {
    return `Node ${process.versions.node} does not read TypeScript by itself: ${loader}, or use Node 22.18 or newer.`;
  }
  return `${said.replace(/\.?$/, ".")} If it needs more than stripping types, ${loader}.`;
}

const isCoded = (error: unknown): boolean =>
  typeof error === "object" && error !== null && (error as { code?: unknown }).code === "REPLAY_APP_INVALID";

/** The app's own copy, so that its functions are replayed by what would run them. */
async function testingOf(url: URL, app: string): Promise<TestingModule> {
  let path: string;
  try {
    path = createRequire(url).resolve("holdfast/testing");
  } catch (cause) {
    throw refused(
      `The package holdfast is not found from ${app}. Install it there, also for an app that is one bundle.`,
      cause,
    );
  }
  const module = (await import(pathToFileURL(path).href)) as Partial<TestingModule> & {
    default?: Partial<TestingModule>;
  };
  const { Replay, readExportedRun } = module.Replay ? module : (module.default ?? {});
  if (Replay && readExportedRun) return { Replay, readExportedRun };
  throw refused("The app's version of holdfast cannot replay runs: update it.");
}

/** Handlers that call others outside of steps fail instead. What listens may listen. */
function refuseNetwork(): void {
  Socket.prototype.connect = () => {
    throw new Error("Nothing is called over the network while runs are replayed: do that in a step.");
  };
}
