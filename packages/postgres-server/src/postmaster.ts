/**
 * One server process, from its start to its end, and why a start failed. Whether to try again is up to
 * `lifecycle.ts`.
 */
import { type ChildProcess, execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { constants } from "node:os";
import { HoldfastError, systemTimers, withTimeout } from "@holdfast/core";
import { corruptDataDir } from "./cluster.ts";
import { runCommand } from "./commands.ts";
import { type Home, openAccess } from "./home.ts";
import { ownIdentity } from "./identity.ts";
import type { StopMode } from "./options.ts";
import { pidFilePath, readPidFile } from "./pid-file.ts";
import { childrenOf, isAlive, isPostmasterOf, killWithChildren, pollUntil, signalProcess } from "./processes.ts";
import type { Runtime } from "./runtime.ts";
import { lastLines, openServerLog, type ServerLog } from "./server-log.ts";
import { spawnSupervised } from "./supervisor.ts";

/** One server process, from its start to its end. */
export interface Postmaster {
  readonly pid: number;
  /** Settles with the exit code when it has ended. */
  readonly exited: Promise<number>;
  /** @param limitMs after this nothing is waited for any more: it and its children are killed */
  stop(mode: StopMode, limitMs?: number): Promise<void>;
  kill(): Promise<void>;
}

export interface PostmasterOptions {
  readonly home: Home;
  readonly runtime: Runtime;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly keep: boolean;
  readonly startTimeoutMs: number;
  /** Gives a start up. */
  readonly signal: AbortSignal;
}

/** Why a start failed, for the caller to decide whether another try makes sense. */
export type StartFailure =
  | { readonly kind: "port-busy" }
  /** Processes of a killed predecessor still hold its shared memory; they end soon. */
  | { readonly kind: "predecessor" }
  | { readonly kind: "final"; readonly error: HoldfastError };

export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster | StartFailure> {
  const { home, runtime, port, keep } = options;
  const log = await openServerLog(home);
  const access = await openAccess(home, home.cluster);
  try {
    const settings = Object.entries({ ...options.settings, port: String(port) });
    const child = spawnSupervised({
      command: runtime.postgres,
      args: ["-D", access.path, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      identity: home.identity,
      logFd: log.fd,
      directoryFd: access.fd,
      orphanSignal: keep ? "INT" : "QUIT",
    });
    const exited = exitOf(child);
    const outcome = await becomesReady(options, exited);
    if (typeof outcome === "number") return running(outcome, exited, options);
    if (outcome === "aborted") await killServerOf(child, exited);
    if (outcome === "timeout") await abandon(child, exited);
    return diagnose(options, log, outcome);
  } finally {
    await access.close();
    await log.close();
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

type StartOutcome = "exited" | "timeout" | "aborted";

/** Reads the server's own word in its pid file: cheaper than connecting again and again. */
async function becomesReady(
  { home, port, startTimeoutMs, signal }: PostmasterOptions,
  exited: Promise<number>,
): Promise<number | StartOutcome> {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  let pid: number | undefined;
  const settled = await pollUntil(
    async () => {
      const file = await readPidFile(home.cluster);
      // The file of a killed predecessor says "ready" until the new server has written its own.
      if (file?.ready && file.port === port && (await isPostmasterOf(file.pid, home.cluster))) pid = file.pid;
      return ended || signal.aborted || pid !== undefined;
    },
    startTimeoutMs,
    10,
  );
  if (ended) return "exited";
  if (signal.aborted) return "aborted";
  return settled && pid !== undefined ? pid : "timeout";
}

/** The supervisor stops the server once the pipe is closed. */
async function abandon(child: ChildProcess, exited: Promise<number>): Promise<void> {
  child.stdio[3]?.destroy();
  if (process.platform === "win32") child.kill();
  await exited;
}

/** The supervisor ends with its server. */
async function killServerOf(child: ChildProcess, exited: Promise<number>): Promise<void> {
  for (const pid of child.pid === undefined ? [] : await childrenOf(child.pid)) await killWithChildren(pid);
  if (process.platform === "win32") child.kill();
  child.stdio[3]?.destroy();
  await exited;
}

const STOP_LIMITS_MS = { fast: 30_000, immediate: 10_000, kill: 10_000 } as const;

function running(pid: number, exited: Promise<number>, { runtime, home }: PostmasterOptions): Postmaster {
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  const signal = async (name: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> => {
    if (ended) return;
    if (process.platform === "win32")
      await runCommand(runtime.pgCtl, ["kill", name.slice(3), String(pid)], ownIdentity());
    else signalProcess(pid, name);
  };
  const endsWithin = (limitMs: number): Promise<boolean> =>
    withTimeout(
      systemTimers,
      exited.then(() => true),
      limitMs,
      () => new Error("late"),
    ).catch(() => false);
  const kill = async (): Promise<void> => {
    await signal("SIGKILL");
    if (await endsWithin(STOP_LIMITS_MS.kill)) return;
    throw new HoldfastError("INTERNAL", `Postgres (process ${pid}) of ${home.dataDir} does not exit.`);
  };
  return {
    pid,
    exited,
    kill,
    async stop(mode, limitMs) {
      if (limitMs !== undefined) {
        await signal(mode === "fast" ? "SIGINT" : "SIGQUIT");
        if (await endsWithin(limitMs)) return;
        await killWithChildren(pid);
        return kill();
      }
      if (mode === "fast") {
        await signal("SIGINT");
        if (await endsWithin(STOP_LIMITS_MS.fast)) return;
      }
      await signal("SIGQUIT");
      if (await endsWithin(STOP_LIMITS_MS.immediate)) return;
      await kill();
    },
  };
}

const PORT_TAKEN = /could not bind|Address already in use|could not create any TCP\/IP sockets/;
const PREDECESSOR = /pre-existing shared memory block|lock file "postmaster\.pid" already exists/;
const OTHER_VERSION = /database files are incompatible|was initialized by PostgreSQL version/;
const CORRUPT =
  /PANIC|pg_control|checkpoint record|not a valid data directory|could not (open|read|access) (file|directory|the)|invalid data in|lacks|checksum|could not find a matching|invalid permissions|has wrong ownership/;

async function diagnose(
  { home, startTimeoutMs }: PostmasterOptions,
  log: ServerLog,
  outcome: StartOutcome,
): Promise<StartFailure> {
  const text = await log.tail();
  const lines = lastLines(text) || "nothing";
  if (outcome === "aborted") return failed("it was stopped", lines, log.path);
  if (outcome === "timeout") {
    return failed(`it was not ready after ${startTimeoutMs} ms`, lines, log.path);
  }
  if (PORT_TAKEN.test(text)) return { kind: "port-busy" };
  if (PREDECESSOR.test(text)) return { kind: "predecessor" };
  if (OTHER_VERSION.test(text) || CORRUPT.test(text)) {
    return { kind: "final", error: corruptDataDir(home, `Postgres says\n${lines}\n(log: ${log.path})`) };
  }
  return failed("it ended", lines, log.path);
}

function failed(why: string, lines: string, path: string): StartFailure {
  const message = `The embedded Postgres did not start: ${why}. Its last log lines (${path}):\n${lines}`;
  return { kind: "final", error: new HoldfastError("POSTGRES_START_FAILED", message) };
}

/**
 * After a SIGKILL nothing removes the shared memory segment: a server that starts again does so, for one that does not
 * we do.
 */
export async function removeTraces(home: Home): Promise<void> {
  const file = await readPidFile(home.cluster);
  if (!file || (await isAlive(file.pid))) return;
  if (file.sharedMemoryId !== undefined) {
    await new Promise<void>((resolve) => {
      execFile("ipcrm", ["-m", String(file.sharedMemoryId)], () => resolve());
    });
  }
  await rm(pidFilePath(home.cluster), { force: true });
}
