import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../gateway-mock", import.meta.url));
const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
const schedules = process.env.HOLDFAST_TEST_SCHEDULES ?? "2000";

test(`${schedules} random orders of events at several gateways break no rule of the gateway's own interleavings test`, async () => {
  const env = {
    ...process.env,
    HOLDFAST_TEST_SCHEDULES: schedules,
    HOLDFAST_TEST_SEED: process.env.HOLDFAST_TEST_SEED ?? "2",
  };
  const run = promisify(execFile)(process.execPath, [vitest, "run", "test/interleavings", "--testTimeout=540000"], {
    cwd: root,
    env,
  });
  const output = await run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `FAILED\n${stdout}\n${stderr}`,
  );
  console.log(output.split("\n").find((line) => line.includes("schedules in")));
  expect(output.startsWith("FAILED") ? output : "passed").toBe("passed");
}, 560_000);
