/** Each scenario works, on this build and beside another; whatever way the benchmark ends, it leaves nothing behind. */
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { scenarios } from "../scenarios/index.mjs";

const program = fileURLToPath(new URL("../run.mjs", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** The benchmark with a temporary folder of its own, by which all that it starts is known. */
function start(args: readonly string[]) {
  const temporary = mkdtempSync(join(tmpdir(), "bench-test-"));
  folders.push(temporary);
  chmodSync(temporary, 0o1777);
  const results = mkdtempSync(join(tmpdir(), "bench-results-"));
  folders.push(results);
  const child = spawn(process.execPath, [program, ...args, "--results", results], {
    cwd: root,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  const processes = () =>
    readdirSync("/proc").filter((pid) => {
      try {
        return Number(pid) !== child.pid && readFileSync(`/proc/${pid}/environ`, "latin1").includes(temporary);
      } catch {
        return false;
      }
    });
  // A copy of Postgres' programs is kept for others, in the folder that goes with the test.
  const files = () => readdirSync(temporary).filter((name) => !name.startsWith("holdfast-postgres-"));
  return {
    child,
    exited,
    processes,
    output: () => output,
    says: async (text: string) => {
      while (!output.includes(text)) {
        if (child.exitCode !== null) throw new Error(`It ended without "${text}":\n${output}`);
        await sleep(50);
      }
    },
    leavesNothing: () => expect.poll(() => [...processes(), ...files()]).toEqual([]),
    rows: (): { scenario: string; build: string; values: Record<string, number> }[] => {
      const [file = ""] = readdirSync(results);
      return JSON.parse(readFileSync(join(results, file), "utf8")).rows;
    },
  };
}

test.each(scenarios.map(({ name }) => name))("the scenario %s of the benchmark works in a tiny size", async (name) => {
  const bench = start(["--size", "tiny", "--rounds", "1", "--only", name]);
  expect(await bench.exited, bench.output()).toBe(0);
  const rows = bench.rows().filter((row) => row.scenario === name);
  expect(rows).toHaveLength(1);
  const shown = scenarios.find((one) => one.name === name)?.shown ?? [];
  // Elsewhere than on Linux CPU time and memory are unknown.
  const known = process.platform === "linux" ? shown : [];
  for (const { value } of known) expect(rows[0]?.values[value], `${value} of ${name}`).toBeTypeOf("number");
  await bench.leavesNothing();
});

test("the benchmark measures a checkout beside this one in turn and prints ratios", async () => {
  const bench = start(["--size", "tiny", "--rounds", "2", "--only", "one,single", "--against", root]);
  expect(await bench.exited, bench.output()).toBe(0);
  expect(bench.rows().map(({ scenario, build }) => [scenario, build])).toEqual(
    ["one", "single"].flatMap((name) => ["this", root, "this", root].map((build) => [name, build])),
  );
  expect(bench.output()).toMatch(/ratio +from +to/);
  await bench.leavesNothing();
});

test("a commit that is not there is refused before anything starts", async () => {
  const bench = start(["--against", "no-such-commit"]);
  expect(await bench.exited).not.toBe(0);
  expect(bench.output()).toContain('"no-such-commit" is neither a commit of this repository nor a checkout');
  await bench.leavesNothing();
});

test.each(["SIGINT", "SIGKILL"] as const)(
  "%s while it measures leaves nothing behind but what was measured before",
  async (signal) => {
    const bench = start(["--size", "quick", "--rounds", "1", "--only", "latency,backlog"]);
    await bench.says("20,000 jobs");
    await expect.poll(() => bench.processes().length).toBeGreaterThan(2);
    bench.child.kill(signal);
    await bench.exited;
    await bench.leavesNothing();
    expect(bench.rows().map(({ scenario }) => scenario)).toEqual(["latency"]);
  },
);

test.each(["SIGINT", "SIGKILL"] as const)("%s while it builds another commit leaves nothing behind", async (signal) => {
  const bench = start(["--size", "tiny", "--only", "one", "--against", "HEAD"]);
  await bench.says("Building HEAD");
  await expect.poll(() => bench.processes().length).toBeGreaterThan(1);
  bench.child.kill(signal);
  await bench.exited;
  await bench.leavesNothing();
});
