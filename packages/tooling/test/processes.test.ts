import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

// Read when the module is loaded, here and in the runners.
vi.stubEnv("WORKSPACE_TOOLS_GRACE_MS", "1000");
const { run } = await import("../src/processes.mjs");
const modulePath = JSON.stringify(pathToFileURL(inRoot("packages/tooling/src/processes.mjs")).href);

/**
 * A runner that starts a child (deaf to SIGTERM) that starts a grandchild in a process group of its own.
 * All three write their process ids.
 */
function tree(): string {
  return fixture({
    "runner.mjs": `import { writeFileSync } from "node:fs";
import { endWithChildren, run, temporaryFolder } from ${modulePath};
endWithChildren();
const { path } = temporaryFolder("holdfast-fixture-");
writeFileSync(path + "/file", "");
writeFileSync("temporary", path);
writeFileSync("runner.pid", String(process.pid));
await run(process.execPath, ["child.mjs"], {});`,
    "child.mjs": `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
process.on("SIGTERM", () => {});
const grandchild = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
writeFileSync("grandchild.pid", String(grandchild.pid));
writeFileSync("child.pid", String(process.pid));
setInterval(() => {}, 1000);`,
  });
}

async function until(what: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + 100_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Waited in vain until ${what}.`);
    await sleep(50);
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that no one has waited for is dead all the same.
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, "latin1") : "";
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

async function started(folder: string): Promise<number[]> {
  const names = ["runner.pid", "grandchild.pid", "child.pid"];
  await until("all three run", () =>
    names.every((name) => existsSync(join(folder, name)) && readFileSync(join(folder, name), "utf8") !== ""),
  );
  return names.map((name) => Number(readFileSync(join(folder, name), "utf8")));
}

const exit = (child: ChildProcess): Promise<number | NodeJS.Signals | null> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));

describe.runIf(process.platform === "linux")("Processes after the runner has ended", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGKILL", "SIGKILL"],
  ] as const)("the runner leaves no process behind: %s", async (signal, code) => {
    const folder = tree();
    const runner = spawn(process.execPath, ["runner.mjs"], { cwd: folder, stdio: "ignore" });
    const exited = exit(runner);
    const pids = await started(folder);
    runner.kill(signal);
    expect(await exited).toBe(code);
    await until("all are gone", () => !pids.some(alive));
    const temporary = readFileSync(join(folder, "temporary"), "utf8");
    await until("its temporary folder is gone", () => !existsSync(temporary));
  });

  test.each([
    ["directly", '"exec $NODE runner.mjs"'],
    ["through a shell", '"$NODE runner.mjs; true"'],
  ])("the runner ends when the npm that started it %s is gone", async (_how, command) => {
    const folder = tree();
    const script = `const { spawn } = require("node:child_process");
const env = { ...process.env, NODE: process.execPath, npm_lifecycle_event: "test" };
spawn("sh", ["-c", ${command}], { stdio: "ignore", detached: true, env });
setInterval(() => {}, 1000);`;
    const npm = spawn(process.execPath, ["-e", script], { cwd: folder, stdio: "ignore" });
    const pids = await started(folder);
    npm.kill("SIGKILL");
    await until("all are gone", () => !pids.some(alive));
  });

  test("a process left behind is named and ended", async () => {
    const folder = fixture({
      "child.mjs": `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
const left = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
writeFileSync("left.pid", String(left.pid));
left.unref();`,
    });
    const { code, left } = await run(process.execPath, ["child.mjs"], { cwd: folder });
    expect(code).toBe(0);
    expect(left).toEqual([expect.stringContaining("setInterval")]);
    expect(alive(Number(readFileSync(join(folder, "left.pid"), "utf8")))).toBe(false);
  });
});

test("the runner's exit code and output are those of the child", async () => {
  const script = "console.log('out'); console.error('err'); process.exitCode = 3;";
  const result = await run(process.execPath, ["-e", script], { output: "collect" });
  expect(result).toMatchObject({ code: 3, timedOut: false, left: [] });
  expect(result.output).toContain("out\n");
  expect(result.output).toContain("err\n");
});

test("a child process that takes too long is ended", async () => {
  const result = await run(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { timeoutMs: 300 });
  expect(result).toMatchObject({ code: 143, timedOut: true });
});

test("running a program that does not exist fails", async () => {
  expect((await run("/nowhere/program", [], { output: "collect" })).code).toBe(127);
});
