import { Console } from "node:console";
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { ConsoleLines } from "../src/console-line.ts";
import { type LoggerLike, logFor, logTo } from "../src/index.ts";
import { foldFrames, stackFrames } from "../src/stack-text.ts";

const STACK = `PaymentDeclined: 503
    at charge (/app/src/order.ts:12:9)
    at async body (/app/node_modules/holdfast/dist/sdk.js:10:5)
    at run (file:///app/node_modules/.pnpm/holdfast@0.1.0/node_modules/holdfast/dist/sdk.js:11:5)
    at process.processTicksAndRejections (node:internal/process/task_queues:103:5)
    at main (C:\\app\\main.ts:3:1)
    at Module._compile (node:internal/modules/cjs/loader:1:1)`;

describe("stacks", () => {
  test("frames of Holdfast and of Node's inside become lines that count them", () => {
    expect(foldFrames(stackFrames(STACK))).toEqual([
      "at charge (/app/src/order.ts:12:9)",
      "… 3 frames of holdfast and Node",
      "at main (C:\\app\\main.ts:3:1)",
      "… 1 frame of Node",
    ]);
  });

  test("with nothing else in it a stack stays whole", () => {
    const frames = ["    at a (node:internal/timers:1:1)", "    at b (/x/node_modules/holdfast/dist/sdk.js:1:1)"];
    expect(foldFrames(frames)).toEqual(frames.map((frame) => frame.trim()));
  });

  test("what an app's own folder is called does not matter", () => {
    const frames = ["    at a (/srv/holdfast/dist/app.js:1:1)"];
    expect(foldFrames(frames)).toEqual(["at a (/srv/holdfast/dist/app.js:1:1)"]);
  });
});

describe("lines of a console", () => {
  const err = { name: "PaymentDeclined", message: "503", stack: STACK };

  test("name and level, the message, the fields, and the stack below", () => {
    const line = new ConsoleLines().lineOf({
      level: "warn",
      message: "Step failed.",
      data: { code: "ATTEMPT_FAILED", runId: "01R", note: "two words", none: undefined, err },
      inWords: ["code"],
    });
    expect(line.split("\n")).toEqual([
      'holdfast warn: Step failed.  runId=01R note="two words"',
      "      at charge (/app/src/order.ts:12:9)",
      "      … 3 frames of holdfast and Node",
      "      at main (C:\\app\\main.ts:3:1)",
      "      … 1 frame of Node",
    ]);
  });

  test("a stack is shown once for a run, and its cause with it", () => {
    const lines = new ConsoleLines();
    const cause = { name: "TypeError", message: "fetch failed", stack: "x\n    at get (/app/src/http.ts:1:1)" };
    const record = { level: "warn", message: "m", data: { runId: "1", err: { ...err, cause } } } as const;
    expect(lines.lineOf(record)).toContain(
      "    caused by TypeError: fetch failed\n      at get (/app/src/http.ts:1:1)",
    );
    expect(lines.lineOf(record)).toBe("holdfast warn: m  runId=1");
    expect(lines.lineOf({ ...record, data: { ...record.data, runId: "2" } })).toContain("order.ts");
  });

  test("the errors of an AggregateError are shown, the first few, each with what it was caused by", () => {
    const part = (name: string, more: object = {}) => ({ name: "Error", message: name, ...more });
    const errors = ["a", "b", "c", "d", "e", "f", "g"].map((name) => part(name));
    const stack = "Error: a\n    at charge (/app/src/order.ts:1:1)";
    errors[0] = part("a", { stack, cause: { name: "TypeError", message: "fetch failed" } });
    const message = "All promises were rejected";
    const [plain, thrown] = [
      { name: "AggregateError", message, data: { errors } },
      Object.assign(new AggregateError(errors, message), { stack: "" }),
    ];
    for (const err of [plain, thrown]) {
      expect(new ConsoleLines().lineOf({ level: "warn", message: "m", data: { err } }).split("\n")).toEqual([
        "holdfast warn: m",
        "    error 1: a",
        "      at charge (/app/src/order.ts:1:1)",
        "      caused by TypeError: fetch failed",
        "    error 2: b",
        "    error 3: c",
        "    error 4: d",
        "    error 5: e",
        "    and 2 more errors",
      ]);
    }
    const around = { name: "Error", message: "x", cause: { ...plain, data: { errors: errors.slice(0, 6) } } };
    expect(new ConsoleLines().lineOf({ level: "warn", message: "m", data: { err: around } })).toMatch(
      /caused by AggregateError: All promises were rejected\n {4}error 1: a\n[\s\S]*\n {4}and 1 more error$/,
    );
  });

  test("data that is no JSON does not harm", () => {
    const loop: Record<string, unknown> = { n: 1n };
    expect(new ConsoleLines().lineOf({ level: "info", message: "m", data: { loop } })).toBe(
      "holdfast info: m  loop=object",
    );
  });
});

describe("loggers", () => {
  const recorder = (extra: object = {}): { calls: unknown[][]; logger: LoggerLike } => {
    const calls: unknown[][] = [];
    const add = (...args: unknown[]): void => void calls.push(args);
    return { calls, logger: { debug: add, info: add, warn: add, error: add, ...extra } };
  };

  test("on a console every level goes to stderr: what a program writes to stdout may be data", () => {
    const written = { out: "", err: "" };
    const into = (name: keyof typeof written) =>
      new Writable({
        write: (chunk, _, done) => {
          written[name] += chunk;
          done();
        },
      });
    const console = new Console({ stdout: into("out"), stderr: into("err") });
    for (const level of ["debug", "info", "warn", "error"] as const) logTo(console, { level, message: "m" });
    expect(written).toEqual({
      out: "",
      err: "holdfast debug: m\nholdfast info: m\nholdfast warn: m\nholdfast error: m\n",
    });
  });

  test("a console gets one text, any other logger the data first", () => {
    const [plain, console] = [recorder(), recorder({ table: () => {}, dir: () => {}, group: () => {} })];
    for (const { logger } of [plain, console]) logTo(logger, { level: "info", message: "m", data: { a: 1 } });
    expect(plain.calls).toEqual([[{ a: 1 }, "m"]]);
    expect(console.calls).toEqual([["holdfast info: m  a=1"]]);
  });

  test.each([
    ["debug", 4],
    ["info", 3],
    ["warn", 2],
    ["error", 1],
    ["off", 0],
  ] as const)("from level %s on %d of four lines are logged", (least, count) => {
    const { calls, logger } = recorder();
    const log = logFor(logger, least);
    for (const level of ["debug", "info", "warn", "error"] as const) log(level, "m");
    expect(calls).toHaveLength(count);
  });
});
