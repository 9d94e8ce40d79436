import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, describe, expect, inject, test } from "vitest";
import { findDebianPostgres, MISSING, startServer } from "./replicated.ts";
import { table } from "./throughput.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What every store promises, and what only this one does with the server: its log, its writer, a loss. */
const FILES = ["contract", "changes", "runner", "facts-once", "commits-lost", "migrate"].map(
  (name) => `test/store-postgres/${name}.test.ts`,
);

const debian = findDebianPostgres();
if (debian === null) console.log(MISSING);

const rows: Record<string, string | number>[] = [];
afterAll(() => table("The conformance suite of the store on Postgres", rows));

async function versionOf(url: string): Promise<string> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    const [row] = await sql`SELECT current_setting('server_version') AS version`;
    return String(row?.version);
  } finally {
    await sql.end();
  }
}

interface Report {
  readonly numPassedTests?: number;
  readonly testResults?: readonly {
    readonly assertionResults: readonly { status: string; fullName: string; failureMessages?: readonly string[] }[];
  }[];
}

/** How many tests of the suite pass on the server at this address, and what those say that fail. */
async function conformance(url: string): Promise<{ readonly passed: number; readonly failures: readonly string[] }> {
  const vitest = fileURLToPath(new URL("node_modules/vitest/vitest.mjs", `file://${ROOT}`));
  const args = [vitest, "run", "--root", "gateway-mock", "--project", "real", "--reporter", "json", ...FILES];
  const env = { ...process.env, HOLDFAST_TEST_DATABASE_URL: url };
  const options = { cwd: ROOT, env, maxBuffer: 256 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? "",
  }));
  const report = JSON.parse(stdout.slice(stdout.indexOf('{"')) || "{}") as Report;
  const tests = (report.testResults ?? []).flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === "failed");
  return {
    passed: report.numPassedTests ?? 0,
    failures: failed.map(
      ({ fullName, failureMessages = [] }) => `${fullName}: ${failureMessages.join(" ").slice(0, 600)}`,
    ),
  };
}

describe("The store keeps its contract on more than one major of Postgres", () => {
  test("on the embedded one", async () => {
    const url = inject("postgresUrl");
    const { passed, failures } = await conformance(url);
    rows.push({ server: `embedded, ${await versionOf(url)}`, passed, failed: failures.length });
    expect(failures).toEqual([]);
    expect(passed).toBeGreaterThan(100);
  });

  test.skipIf(debian === null)("on Debian's", async () => {
    if (debian === null) throw new Error(MISSING);
    const server = await startServer(debian);
    try {
      const { passed, failures } = await conformance(server.url);
      rows.push({ server: `Debian's, ${await versionOf(server.url)}`, passed, failed: failures.length });
      expect(failures).toEqual([]);
      expect(passed).toBeGreaterThan(100);
    } finally {
      await server.stop();
    }
  });
});
