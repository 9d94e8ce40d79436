import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  areShort,
  COMMAND_TYPES,
  checkSize,
  ISOLATION_VERSION,
  type IsolationMessage,
  MAX_ANSWER_BYTES,
  MAX_INPUT_BYTES,
  REPORT_TYPES,
} from "../../src/isolation/shared/isolation-messages.ts";
import { ISOLATION_TABLE } from "../../src/isolation/shared/isolation-table.ts";
import { packed, unpacked } from "../../src/isolation/shared/packed-messages.ts";
import { readCommand, readReport } from "../../src/isolation/shared/read-messages.ts";

const version = ISOLATION_VERSION;

const text = fc.string();
const ms = fc.double({ min: 0, max: 2e12, noNaN: true, noDefaultInfinity: true });
const short = fc.array(fc.oneof(text, fc.integer(), fc.boolean(), fc.constantFrom(null, undefined)), { maxLength: 8 });
const subject = fc.record(
  {
    ...{ requestId: text, runId: text, functionSlug: text },
    trace: fc.constant({ traceparent: "00-1-2-01" }),
    step: fc.record({ id: text, hash: text, attempt: fc.nat() }),
  },
  { requiredKeys: ["requestId", "runId", "functionSlug"] },
);
const header = { version: fc.constant(version), turn: fc.nat() };
const runBody = fc.record({
  ...{ type: fc.constant("RUN_BODY" as const), ...header, subject, announces: fc.boolean() },
  code: fc.record({ kind: fc.constantFrom("body" as const, "export" as const), module: text, name: text }),
  input: fc.oneof(short, fc.uint8Array()),
  asOf: fc.option(fc.record({ wallMs: ms, monotonicMs: ms })),
});
const loss = fc.record({
  what: text,
  path: text,
  becomes: fc.constantFrom("{}" as const, "null" as const, '{"0":...}' as const),
});
const done = fc.record({
  ...{ type: fc.constant("DONE" as const), ...header },
  json: fc.record({ text, isUndefined: fc.boolean(), loss }, { requiredKeys: ["text", "isUndefined"] }),
  timing: fc.record({ startedMs: ms, durationMs: ms }),
});

describe("Messages of the pool", () => {
  it("what is packed comes out as it was, also when it was cloned on its way", () => {
    fc.assert(
      fc.property(fc.oneof(runBody, done), (message) => {
        expect(unpacked(structuredClone(packed(message as IsolationMessage)))).toEqual(message);
      }),
    );
  });

  it("the pool's message table has exactly one row for each message, in its direction", () => {
    const rows = Object.entries(ISOLATION_TABLE);
    const of = (direction: string): string[] =>
      rows.filter(([, row]) => row.direction === direction).map(([type]) => type);
    expect(of("main->pool").sort()).toEqual([...COMMAND_TYPES].sort());
    expect(of("pool->main").sort()).toEqual([...REPORT_TYPES].sort());
  });

  it("every command of a turn and every answer names its turn, and fails with the thread", () => {
    for (const type of ["RUN_BODY", "LOAD", "DONE", "FAILED", "LOADED"] as const) {
      expect(ISOLATION_TABLE[type]).toMatchObject({
        correlation: "turn",
        whenLate: "ignored",
        onOtherSideDeath: "the turn fails with ISOLATE_THREAD_LOST",
      });
    }
  });

  it.each([
    undefined,
    null,
    5,
    "END",
    {},
    [[]],
    [["DONE"]],
    [["RUN_BODY", 99, 1]],
    { type: "END" },
    { type: "NOPE", version },
    { type: "END", version: 99 },
  ])("the post %j is refused on both sides with an error code", (posted) => {
    expect(() => readCommand(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
    expect(() => readReport(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
  });

  it("a port that was not transferred is refused in plain words", () => {
    const command = { type: "CONNECTION_PORT", version, turn: 0 };
    for (const port of [undefined, null, {}, 7]) {
      expect(() => readCommand({ ...command, port })).toThrow(
        expect.objectContaining({ code: "ISOLATE_PORT", message: expect.stringContaining("did not transfer it") }),
      );
    }
    const { port1, port2 } = new MessageChannel();
    expect(readCommand({ ...command, port: port1 })).toMatchObject({ type: "CONNECTION_PORT" });
    port1.close();
    port2.close();
  });

  it("what crosses is measured where it is sent and where it comes in", () => {
    const tooLarge = expect.objectContaining({ code: "ISOLATE_VALUE_INVALID" });
    expect(() => checkSize("arguments", MAX_INPUT_BYTES + 1, MAX_INPUT_BYTES)).toThrow(tooLarge);
    expect(() => readCommand({ type: "RUN_BODY", version, turn: 1, input: ["x".repeat(9_000)] })).toThrow(tooLarge);
    const input = { byteLength: MAX_INPUT_BYTES + 1 };
    expect(() => readCommand({ type: "RUN_BODY", version, turn: 1, input })).toThrow(tooLarge);
    const json = { text: { length: MAX_ANSWER_BYTES + 1 }, isUndefined: false };
    expect(() => readReport({ type: "DONE", version, turn: 1, json })).toThrow(tooLarge);
  });

  it("few short values travel as they are; whatever has parts, is long or is no JSON is serialized", () => {
    expect(areShort([])).toBe(true);
    expect(areShort(["a", 1, Number.NaN, true, null, undefined])).toBe(true);
    for (const values of [[{}], [[]], ["x".repeat(1_025)], Array(9).fill(1), [1n], [Symbol("s")], [() => {}]]) {
      expect(areShort(values)).toBe(false);
    }
  });
});
