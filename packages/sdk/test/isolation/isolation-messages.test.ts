import { MessageChannel } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import {
  COMMAND_TYPES,
  checkSize,
  ISOLATION_VERSION,
  MAX_ANSWER_BYTES,
  MAX_INPUT_BYTES,
  REPORT_TYPES,
  readCommand,
  readReport,
} from "../../src/isolation/shared/isolation-messages.ts";
import { ISOLATION_TABLE } from "../../src/isolation/shared/isolation-table.ts";

const version = ISOLATION_VERSION;

describe("Messages of the pool", () => {
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

  it.each([undefined, null, 5, "END", {}, { type: "END" }, { type: "NOPE", version }, { type: "END", version: 99 }])(
    "the post %j is refused on both sides with an error code",
    (posted) => {
      expect(() => readCommand(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
      expect(() => readReport(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
    },
  );

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
    const input = { byteLength: MAX_INPUT_BYTES + 1 };
    expect(() => readCommand({ type: "RUN_BODY", version, turn: 1, input })).toThrow(tooLarge);
    const json = { text: { length: MAX_ANSWER_BYTES + 1 }, isUndefined: false };
    expect(() => readReport({ type: "DONE", version, turn: 1, json })).toThrow(tooLarge);
  });
});
