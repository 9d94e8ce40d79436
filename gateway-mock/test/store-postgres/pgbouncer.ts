/** A PgBouncer of this machine, if there is one, in front of a Postgres server. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";

/** It refuses to run as root. */
const UNPRIVILEGED_ID = 65_534;

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `HOLDFAST_TEST_PGBOUNCER`, or the first on the path; null: there is none. */
export function findPgBouncer(): string | null {
  const { HOLDFAST_TEST_PGBOUNCER: given, PATH = "" } = process.env;
  const places = [...PATH.split(delimiter), "/usr/sbin"].map((folder) => join(folder, "pgbouncer"));
  return [given ?? "", ...places].find((path) => path !== "" && isProgram(path)) ?? null;
}

export interface PgBouncer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startPgBouncer(
  bin: string,
  databaseUrl: string,
  mode: "session" | "transaction",
): Promise<PgBouncer> {
  const target = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), "holdfast-pgbouncer-"));
  const port = await freePort();
  const config = join(folder, "pgbouncer.ini");
  const password = decodeURIComponent(target.password);
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${target.port} user=${target.username}${password === "" ? "" : ` password=${password}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 20
server_reset_query = DISCARD ALL
`,
  );
  for (const path of [folder, config]) chmodSync(path, 0o755);
  const identity = process.geteuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {};
  const child = spawn(bin, ["-q", config], { ...identity, cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += text.toString();
  });
  const url = new URL(databaseUrl);
  url.port = String(port);
  const pooler: PgBouncer = {
    url: url.href,
    async close() {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await waitFor(
      () => {
        if (child.exitCode !== null) throw new Error(`PgBouncer did not start: ${said}`);
        return answers(url.href);
      },
      { what: "PgBouncer to answer", context: () => said },
    );
  } catch (error) {
    await pooler.close();
    throw error;
  }
  return pooler;
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 2 });
  try {
    await sql.unsafe("SELECT 1").simple();
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const end = once(child, "exit");
  child.kill("SIGKILL");
  await end;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
