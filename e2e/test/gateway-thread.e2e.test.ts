import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { totalmem } from "node:os";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { spawnNode } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";

/** The gateway of the command runs in a thread: what happens to the process when that thread is in trouble. */

const stuck = fileURLToPath(new URL("../fixtures/stuck-gateway.mjs", import.meta.url));

async function gatewayWithFate(fate: string, nodeArgs: readonly string[] = []) {
  const child = spawnNode(gatewayBin, {
    name: "The gateway",
    args: ["dev", "--store", "memory", "--json", "--port", "0", "--connect-port", "0"],
    env: { HOLDFAST_STORE: undefined, DATABASE_URL: undefined, HOLDFAST_DATABASE_URL: undefined, TEST_FATE: fate },
    execArgv: [...nodeArgs, "--import", stuck],
  });
  onTestFinished(async () => void (await child.kill()));
  await child.waitForLine(/"ready"/);
  return child;
}

const memoryBytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());

test.runIf(memoryBytes >= 2 ** 31)("where there is memory, the thread has room for young objects", async () => {
  const child = await gatewayWithFate("sayLimits");
  const line = await child.waitForLine(/^LIMITS /);
  expect(JSON.parse(line.replace("LIMITS ", ""))).toMatchObject({ maxYoungGenerationSizeMb: 192 });
});

test("a gateway whose thread computes for ever still ends when it is told so again and again", async () => {
  const child = await gatewayWithFate("compute");
  // Three are enough; signals of one kind that arrive together count as one.
  while (child.running) {
    process.kill(child.pid, "SIGINT");
    await Promise.race([child.exited, new Promise((resolve) => setTimeout(resolve, 200))]);
  }
  expect(await child.exited).toMatchObject({ code: 1, signal: null });
});

test("a gateway that runs out of memory says so, and what to do, and ends with 1", async () => {
  const child = await gatewayWithFate("hoard", ["--max-old-space-size=64"]);
  expect(await child.exited).toMatchObject({ code: 1, signal: null });
  const line = child.lines.find((one) => one.includes("GATEWAY_OUT_OF_MEMORY")) ?? "";
  expect(JSON.parse(line)).toEqual({
    error: expect.stringContaining("--max-old-space-size="),
    code: "GATEWAY_OUT_OF_MEMORY",
  });
});

test("a gateway whose lines are not read ends when it is told so", async () => {
  const args = [
    "--import",
    stuck,
    gatewayBin,
    "dev",
    "--store",
    "memory",
    "--json",
    "--port",
    "0",
    "--connect-port",
    "0",
  ];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TEST_FATE: "chatter" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test.runIf(existsSync("/dev/full"))("a command whose results find no room on the disk says so, and fails", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [gatewayBin, "keys", "create"], { stdio: ["ignore", full, "pipe"] });
  const [said, [code]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, "exit")]);
  expect(code).toBe(1);
  expect(said).toContain("could not be written: ENOSPC");
});
