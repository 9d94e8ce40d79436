/** Fails a test that leaves something behind: processes, sockets, timers, servers that this package started. */
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import type { Worker } from "node:worker_threads";
import { HoldfastError, sleep, systemClock, systemTimers } from "@holdfast/core";
import { helperPid } from "./reaper.ts";
import { registered } from "./registry.ts";

export interface LeakCheckOptions {
  /** How long things that are ending already may take. Default 5000. */
  readonly graceMs?: number;
  /** Kinds to pass over, by their names in `process.getActiveResourcesInfo()`. */
  readonly ignore?: readonly string[];
}

export interface LeakCheck {
  /** What has come since the check was made and is still there; waits for what is ending. */
  leaks(): Promise<string[]>;
  /** @throws HoldfastError `TEST_LEAK` when there is any */
  assertNone(): Promise<void>;
}

/** Standard streams and work of the moment; nothing that a test could leave. */
const HARMLESS = new Set([
  "TTYWrap",
  "Immediate",
  "CloseReq",
  "TickObject",
  "FSReqCallback",
  "FSReqPromise",
  "ShutdownWrap",
]);
const DEFAULT_GRACE_MS = 5_000;
const POLL_MS = 20;

/**
 * Remembers what is active now: sockets, servers, timers, threads and everything else that keeps the process alive,
 * child processes also when they do not, and what this package has started.
 */
export function leakCheck(options: LeakCheckOptions = {}): LeakCheck {
  const ignore = new Set([...HARMLESS, ...(options.ignore ?? [])]);
  const before = {
    resources: countResources(ignore),
    handles: new Set(activeHandles()),
    threads: new Set(liveThreads()),
    children: childProcesses(),
    ours: new Set(registered().keys()),
  };

  const look = (): string[] => {
    const found: string[] = [];
    for (const [kind, count] of countResources(ignore)) {
      const more = count - (before.resources.get(kind) ?? 0);
      if (more > 0) found.push(`${more} ${kind}${details(kind, before.handles)}`);
    }
    for (const thread of liveThreads()) {
      if (!before.threads.has(thread)) found.push(`worker thread ${thread.threadId}`);
    }
    for (const [pid, command] of childProcesses()) {
      if (!before.children.has(pid) && pid !== helperPid()) found.push(`child process ${pid}: ${command}`);
    }
    for (const [key, { describe }] of registered()) if (!before.ours.has(key)) found.push(describe());
    return found;
  };
  const leaks = async (): Promise<string[]> => {
    const endMs = systemClock.monotonicMs() + (options.graceMs ?? DEFAULT_GRACE_MS);
    // The timer of the wait itself must not be taken for a leak.
    for (let found = look(); ; found = look()) {
      if (found.length === 0 || systemClock.monotonicMs() > endMs) return found;
      await sleep(systemTimers, POLL_MS);
    }
  };
  return {
    leaks,
    async assertNone() {
      const found = await leaks();
      if (found.length === 0) return;
      throw new HoldfastError("TEST_LEAK", `Left behind:\n${found.map((each) => `  ${each}`).join("\n")}`);
    },
  };
}

/** Hooks of a test runner; those of Vitest, Jest and node:test fit. */
export interface TestHooks {
  beforeAll(hook: () => void): unknown;
  afterAll(hook: () => Promise<void>): unknown;
}

/**
 * For a setup file or the top of a test file: what is active before the first test is remembered, and the last hook
 * fails when something has come and not gone. Call it before other hooks are set: they then run first at the end.
 */
export function checkLeaks(hooks: TestHooks, options: LeakCheckOptions = {}): void {
  let check: LeakCheck | undefined;
  hooks.beforeAll(() => {
    check = leakCheck(options);
  });
  hooks.afterAll(async () => {
    await check?.assertNone();
  });
}

function countResources(ignore: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!ignore.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

const threads = new Set<Worker>();
let watchesThreads = false;

/** Threads that this process has started since it was asked first. */
function liveThreads(): ReadonlySet<Worker> {
  if (!watchesThreads) {
    watchesThreads = true;
    process.on("worker", (worker) => {
      threads.add(worker);
      worker.once("exit", () => threads.delete(worker));
    });
  }
  return threads;
}

/** The function is not documented, so its absence is no failure: it only makes texts better. */
function activeHandles(): unknown[] {
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => unknown[] };
  return handles?.call(process) ?? [];
}

/** Which sockets and processes these are. */
function details(kind: string, before: ReadonlySet<unknown>): string {
  const fresh = activeHandles().filter((handle) => !before.has(handle));
  const texts = fresh.flatMap((handle) => describeHandle(kind, handle) ?? []);
  return texts.length > 0 ? ` (${texts.join("; ")})` : "";
}

function describeHandle(kind: string, handle: unknown): string | undefined {
  const name = (handle as object).constructor?.name;
  switch (kind) {
    case "TCPSocketWrap": {
      const socket = handle as Socket;
      if (name !== "Socket" || socket.remotePort === undefined) return undefined;
      return `${socket.localPort} -> ${socket.remoteAddress}:${socket.remotePort}`;
    }
    case "TCPServerWrap": {
      if (name !== "Server") return undefined;
      return `listening on ${JSON.stringify((handle as Server).address())}`;
    }
    case "ProcessWrap": {
      const child = handle as ChildProcess;
      return name === "ChildProcess" ? `${child.pid}: ${child.spawnargs?.join(" ").slice(0, 200)}` : undefined;
    }
    default:
      return undefined;
  }
}

/** Children of this process by their ids, also those that do not keep it alive. Linux only; elsewhere none are found. */
function childProcesses(): Map<number, string> {
  const children = new Map<number, string>();
  for (const thread of listDirectory("/proc/self/task")) {
    for (const pid of readText(`/proc/self/task/${thread}/children`).split(" ")) {
      if (pid === "" || /^\d+ \(.*\) Z/s.test(readText(`/proc/${pid}/stat`))) continue;
      children.set(Number(pid), readText(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim().slice(0, 200));
    }
  }
  return children;
}

function listDirectory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
