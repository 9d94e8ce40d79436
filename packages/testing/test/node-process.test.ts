import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkLeaks, spawnNode, waitFor } from "../src/index.ts";

checkLeaks({ beforeAll, afterAll });

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const child = fixture("child.mjs");

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("spawnNode", () => {
  test("spawnNode gives the lines of both streams, and passes environment, input and messages", async () => {
    await using node = spawnNode(child, { args: ["stay"], env: { GREETING: "you" }, ipc: true });
    expect(await node.waitForLine(/^hello/)).toBe("hello stay you");
    await node.waitForLine("to stderr");
    node.write("words\n");
    expect(await node.waitForLine((line) => line.startsWith("heard"))).toBe("heard words");
    const echoed = new Promise((resolve) => node.onMessage(resolve));
    node.send({ a: 1 });
    expect(await echoed).toEqual({ a: 1 });
    const since = node.lines.length;
    node.write("again\n");
    expect(await node.waitForLine("heard", { since })).toBe("heard again");
    expect(node.running).toBe(true);
    expect(await node.kill("SIGTERM")).toEqual({ code: null, signal: "SIGTERM" });
    expect(node.running).toBe(false);
  });

  test("waitForLine reports how a process exited that never printed the line", async () => {
    const node = spawnNode(new URL(`file://${child}`), { args: ["end"], name: "app" });
    await expect(node.waitForLine("something else")).rejects.toMatchObject({
      code: "TEST_PROCESS_ENDED",
      message: expect.stringMatching(/app exited with code 7 .*something else\. Its last lines:\n {2}hello end/),
    });
    expect(await node.exited).toEqual({ code: 7, signal: null });
    await expect(node.waitForLine("something else")).rejects.toThrow(/code 7/);
    expect(await node.waitForLine("hello")).toBe("hello end ");
  });

  test("waitForLine reports the lines that came instead when its time is up", async () => {
    await using node = spawnNode(child, { args: ["stay"] });
    await node.waitForLine("to stderr");
    await expect(node.waitForLine(/never/, { timeoutMs: 20 })).rejects.toMatchObject({
      code: "TEST_TIMEOUT",
      message: expect.stringMatching(/child\.mjs did not print .*\/never\/ in 20 ms.*hello stay/s),
    });
  });

  test("spawnNode ends the processes that its process started", async () => {
    const node = spawnNode(child, { args: ["child"] });
    const pid = Number((await node.waitForLine(/^child/)).split(" ")[1]);
    await node[Symbol.asyncDispose]();
    await waitFor(() => !isAlive(pid), { what: "the grandchild to end" });
  });

  test("spawnNode reports a program that does not exist", async () => {
    const node = spawnNode(child, { execPath: "/nonexistent/node" });
    await expect(node.waitForLine("hello")).rejects.toThrow(/could not be run: .*ENOENT/);
  });

  test("spawnNode leaves no process behind when its own process is killed with -9", async () => {
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const parent = spawnNode(fixture("parent.ts"), { execArgv: ["--import", tsx] });
    const pids = (await parent.waitForLine(/^pids/)).split(" ").slice(1).map(Number);
    expect(pids).toHaveLength(4);
    expect(pids.every(isAlive)).toBe(true);
    await parent.kill();
    await waitFor(() => !pids.some(isAlive), { what: "all of them to end" });
  });
});
