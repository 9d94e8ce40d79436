/**
 * Loads the app whose functions replay runs, with the `holdfast/testing` that it has itself, and keeps it from the
 * network while it does.
 */
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { HoldfastError, messageOf } from "@holdfast/core";
import { keepStdoutForResults } from "./output.ts";

export interface ShownDivergence {
  readonly type: string;
  readonly step?: string;
  readonly after?: string;
  readonly recorded?: string;
  readonly found?: string;
  readonly message?: string;
}

/** As `holdfast/testing` has it; this package does not depend on that one. */
export interface ReplayResult {
  readonly runId: string;
  readonly functionId: string;
  readonly appVersion: string;
  readonly status: string;
  readonly divergence: ShownDivergence | null;
  readonly steps: number;
  readonly next: readonly string[];
}

interface LoadedReplay {
  readonly functions: readonly string[];
  run(exported: unknown): Promise<ReplayResult>;
}

interface TestingModule {
  readonly Replay: { open(importApp: () => Promise<unknown>): Promise<LoadedReplay> };
  readonly readExportedRun: (line: string) => unknown;
}

export interface AppReplay {
  readonly functions: readonly string[];
  /** Replays one line of an export. */
  run(line: string): Promise<ReplayResult>;
}

/** @throws HoldfastError `GATEWAY_USAGE`, `REPLAY_APP_INVALID` */
export async function loadReplay(app: string | undefined): Promise<AppReplay> {
  if (app === undefined) {
    throw new HoldfastError(
      "GATEWAY_USAGE",
      "--app is missing: the module that your app starts with, such as ./dist/app.js.",
    );
  }
  const url = pathToFileURL(resolve(app));
  const testing = await testingOf(url, app);
  keepStdoutForResults();
  // An app that wants to know why it is loaded looks here.
  process.env.HOLDFAST_REPLAY = "1";
  const replay = await withoutNetwork(async () => {
    try {
      return await testing.Replay.open(() => import(url.href));
    } catch (cause) {
      if (isCoded(cause)) throw new HoldfastError("REPLAY_APP_INVALID", messageOf(cause), { cause });
      throw new HoldfastError("REPLAY_APP_INVALID", `${app} cannot be loaded: ${whyNotLoaded(app, cause)}`, { cause });
    }
  });
  return {
    functions: replay.functions,
    run: (line) => {
      const exported = testing.readExportedRun(line);
      return withoutNetwork(() => replay.run(exported));
    },
  };
}

function whyNotLoaded(app: string, cause: unknown): string {
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
    const problem = `The package holdfast is not found from ${app}. Install it there, also for an app that is one bundle.`;
    throw new HoldfastError("REPLAY_APP_INVALID", problem, { cause });
  }
  const module = (await import(pathToFileURL(path).href)) as Partial<TestingModule> & {
    default?: Partial<TestingModule>;
  };
  const { Replay, readExportedRun } = module.Replay ? module : (module.default ?? {});
  if (Replay && readExportedRun) return { Replay, readExportedRun };
  throw new HoldfastError("REPLAY_APP_INVALID", "The app's version of holdfast cannot replay runs: update it.");
}

/** Handlers that call others outside of steps fail instead. What listens may listen. */
async function withoutNetwork<T>(work: () => Promise<T>): Promise<T> {
  const { connect } = Socket.prototype;
  Socket.prototype.connect = () => {
    throw new Error("Nothing is called over the network while runs are replayed: do that in a step.");
  };
  try {
    return await work();
  } finally {
    Socket.prototype.connect = connect;
  }
}
