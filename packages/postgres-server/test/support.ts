import { type ChildProcess, spawn } from "node:child_process";
import { chmod, lstat, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import postgres from "postgres";
import { onTestFinished } from "vitest";
import { type PostgresOptions, type PostgresServer, startPostgres } from "../src/index.ts";
import { isAlive, pollUntil } from "../src/processes.ts";

export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65_534;
/** The machine may be very busy. */
export const PATIENCE_MS = 100_000;

/** A directory that is removed after the test; everybody may enter it. */
export async function scratch(mode = 0o755): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  await chmod(dir, mode);
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return dir;
}

/** A server that is stopped after the test, if the test has not done so. */
export async function serve(options: PostgresOptions): Promise<PostgresServer> {
  const server = await startPostgres({ durable: false, ...options });
  onTestFinished(() => server.stop());
  return server;
}

/** One statement on its own connection. */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

export const eventually = (done: () => Promise<boolean>): Promise<boolean> => pollUntil(done, PATIENCE_MS);
export const isGone = async (pid: number): Promise<boolean> => !(await isAlive(pid));

export interface Owned {
  readonly process: ChildProcess;
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly port: number;
  /** Set when the server could not be started. */
  readonly code?: string;
  readonly message?: string;
}

/** Starts a server in another process, optionally as another user. */
export async function startOwner(options: PostgresOptions, uid?: number): Promise<Owned> {
  const child = spawnOwner(options, { uid });
  for await (const line of createInterface({ input: child.stdout })) return { process: child, ...JSON.parse(line) };
  throw new Error("The owner ended without a word.");
}

/** A process that starts a server; it may be killed before it has one. */
export function spawnOwner(
  options: PostgresOptions,
  { uid, env }: { uid?: number | undefined; env?: NodeJS.ProcessEnv } = {},
): ChildProcess & { readonly stdout: Readable } {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const script = fileURLToPath(new URL("./fixtures/owner.ts", import.meta.url));
  const args = ["--import", tsx, script, JSON.stringify({ durable: false, ...options })];
  const child = spawn(process.execPath, uid === undefined ? args : [...args, String(uid)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return child;
}

export function killed(owner: Pick<Owned, "process">): Promise<void> {
  return new Promise((resolve) => {
    owner.process.once("exit", () => resolve());
    owner.process.kill("SIGKILL");
  });
}
