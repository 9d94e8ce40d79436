/**
 * A primary and a standby of Debian's Postgres, behind one address that moves with the failover. Where the programs are
 * missing (`postgresql-15` or newer) the tests that need them are skipped, in one line that says so.
 */
import { execFile, spawn } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { type PortProxy, startPortProxy } from "../support/port-proxy.mjs";

const DEBIAN = "/usr/lib/postgresql";
const NEEDED = ["initdb", "pg_ctl", "postgres", "pg_basebackup"];
/** Postgres refuses to run as root; this user has nothing else. */
const UNPRIVILEGED_ID = 65_534;

export interface DebianPostgres {
  readonly bin: string;
  readonly major: number;
}

/** The newest that is installed with all programs; null: none is. */
export function findDebianPostgres(): DebianPostgres | null {
  if (!existsSync(DEBIAN)) return null;
  const found = readdirSync(DEBIAN)
    .map((name) => ({ bin: join(DEBIAN, name, "bin"), major: Number(name) }))
    .filter(({ bin, major }) => major >= 14 && NEEDED.every((program) => existsSync(join(bin, program))));
  return found.sort((a, b) => b.major - a.major)[0] ?? null;
}

export const MISSING = `Skipped: no Debian Postgres (14 or newer, with pg_basebackup) below ${DEBIAN}: apt-get install postgresql`;

const identity = process.geteuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};

/** Not at one go: what it copies passes through this process. */
async function run(bin: string, program: string, args: readonly string[]): Promise<void> {
  const env = { LC_ALL: "C", PATH: process.env.PATH };
  await promisify(execFile)(join(bin, program), [...args], { ...identity, cwd: "/", env, timeout: 120_000 });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}

export const urlOf = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`;

/** One server: its data directory, its port, its process. */
export interface Server {
  readonly port: number;
  readonly dataDir: string;
  /** kill -9 of all its processes, as if its machine had lost power; the disk stays. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

async function start(bin: string, dataDir: string, port: number): Promise<Server> {
  const log = join(dataDir, "server.log");
  const child = spawn(join(bin, "postgres"), ["-D", dataDir, "-p", String(port)], {
    ...identity,
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that all its processes can be killed.
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => appendFileSync(log, text));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const signal = (name: NodeJS.Signals, group: boolean): void => {
    if (isOver || child.pid === undefined) return;
    try {
      process.kill(group ? -child.pid : child.pid, name);
    } catch {
      // It has ended meanwhile.
    }
  };
  await waitFor(
    () => {
      if (isOver) throw new Error(`Postgres did not start: ${readFileSync(log, "utf8").slice(-2_000)}`);
      return answers(port);
    },
    { what: `Postgres to answer on port ${port}`, timeoutMs: 60_000 },
  );
  return {
    port,
    dataDir,
    async kill() {
      signal("SIGKILL", true);
      await ended;
    },
    async stop() {
      signal("SIGQUIT", false);
      await ended;
      signal("SIGKILL", true);
    },
  };
}

async function answers(port: number): Promise<boolean> {
  const sql = postgres(urlOf(port), { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** One server by itself. */
export async function startServer({ bin }: DebianPostgres): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { folder, dataDir } = newFolders("only");
  try {
    await run(bin, "initdb", ["-D", dataDir, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    // Nothing here has to outlive a crash.
    appendFileSync(join(dataDir, "postgresql.conf"), `${SETTINGS}fsync = off\nfull_page_writes = off\n`);
    const server = await start(bin, dataDir, await freePort());
    const stop = async (): Promise<void> => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    };
    return { url: urlOf(server.port), stop };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A temporary folder that Postgres may use, and a data directory in it. */
function newFolders(name: string): { readonly folder: string; readonly dataDir: string } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-pair-"));
  own(folder);
  return { folder, dataDir: ownFolder(join(folder, name)) };
}

function own(path: string): void {
  if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid);
}

function ownFolder(path: string): string {
  mkdirSync(path, { mode: 0o700 });
  own(path);
  return path;
}

export interface PairOptions {
  /** Commits wait for the standby. */
  readonly synchronous: boolean;
}

/** A primary with one standby. */
export interface Pair {
  /** Of the server that is in charge. */
  readonly url: string;
  readonly primary: Server;
  readonly standby: Server;
  /** The standby receives nothing from now on, and says nothing. */
  cutReplication(): Promise<void>;
  /** The address leads to the standby from now on. */
  moveAddress(): Promise<void>;
  /** The standby becomes a primary. */
  promote(): Promise<void>;
  /** Ends the connections through the address; none is taken until it moves. */
  closeAddress(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPair({ bin }: DebianPostgres, { synchronous }: PairOptions): Promise<Pair> {
  const { folder, dataDir: first } = newFolders("primary");
  const second = ownFolder(join(folder, "standby"));
  const running: { stop(): Promise<unknown> }[] = [];
  const stop = async (): Promise<void> => {
    for (const one of running.reverse()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await run(bin, "initdb", ["-D", first, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    appendFileSync(join(first, "postgresql.conf"), SETTINGS);
    const primary = await start(bin, first, await freePort());
    running.push(primary);
    // What the standby receives comes through here, so that it can be cut off.
    const replication = await startPortProxy(primary.port);
    running.push({ stop: replication.stop });
    const source = `host=127.0.0.1 port=${replication.port} user=postgres application_name=standby_a`;
    await run(bin, "pg_basebackup", [
      "-D",
      second,
      "-d",
      source,
      "-R",
      "-X",
      "stream",
      "-c",
      "fast",
      "-C",
      "-S",
      "standby_a",
    ]);
    const standby = await start(bin, second, await freePort());
    running.push(standby);
    const sql = postgres(urlOf(primary.port), { max: 1, onnotice: () => {} });
    if (synchronous) {
      await sql.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby_a)'");
      await sql.unsafe("SELECT pg_reload_conf()");
    }
    await waitFor(
      async () => {
        const [row] =
          await sql`SELECT sync_state FROM pg_stat_replication WHERE application_name = 'standby_a' AND state = 'streaming'`;
        return row?.sync_state === (synchronous ? "quorum" : "async");
      },
      { what: "the standby to stream" },
    );
    await sql.end();
    const address: PortProxy = await startPortProxy(primary.port);
    running.push({ stop: address.stop });
    return {
      url: urlOf(address.port),
      primary,
      standby,
      cutReplication: async () => void (await replication.stop()),
      closeAddress: async () => void (await address.stop()),
      async moveAddress() {
        await address.stop();
        address.retarget(standby.port);
        await address.start();
      },
      promote: () => run(bin, "pg_ctl", ["promote", "-D", second, "-w", "-t", "60"]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As small as will do; a standby takes them with the copy. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
wal_level = replica
hot_standby = on
max_wal_senders = 8
wal_receiver_timeout = 10s
wal_retrieve_retry_interval = 200ms
`;
