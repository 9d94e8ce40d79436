import { describe, expect, it } from "vitest";
import { ISOLATED_MESSAGE_TABLE } from "../../src/connection/shared/isolated-message-table.ts";
import {
  ISOLATED_COMMAND_TYPES,
  ISOLATED_PROTOCOL_VERSION,
  ISOLATED_REPORT_TYPES,
  readIsolatedCommand,
  readIsolatedReport,
} from "../../src/connection/shared/isolated-messages.ts";

const version = ISOLATED_PROTOCOL_VERSION;

describe("Messages between the connection thread and pool threads", () => {
  it("the table has exactly one row for each message, in its direction", () => {
    const rows = Object.entries(ISOLATED_MESSAGE_TABLE);
    const of = (direction: string): string[] =>
      rows.filter(([, row]) => row.direction === direction).map(([type]) => type);
    expect(of("connection->pool").sort()).toEqual([...ISOLATED_COMMAND_TYPES].sort());
    expect(of("pool->connection").sort()).toEqual([...ISOLATED_REPORT_TYPES].sort());
    expect(rows).toHaveLength(ISOLATED_COMMAND_TYPES.length + ISOLATED_REPORT_TYPES.length);
  });

  it("every answer is paired with what it answers", () => {
    for (const [type, row] of Object.entries(ISOLATED_MESSAGE_TABLE)) {
      if (row.role === "answer") expect(row.correlation, type).not.toBeNull();
    }
  });

  it("a message of the own version is read as it is", () => {
    const command = { type: "REPLY_ACKED", requestId: "r", version, turn: 1 } as const;
    const report = { type: "TURN_ENDED", version, turn: 0 } as const;
    expect(readIsolatedCommand(command)).toBe(command);
    expect(readIsolatedReport(report)).toBe(report);
  });

  it.each([
    undefined,
    null,
    5,
    {},
    { type: "NOPE", version },
    { type: "TURN_ENDED", version },
    { type: "SYNC", version: version + 1 },
    { type: "SYNC" },
  ])("the message %j to a pool thread is rejected with an error code", (posted) => {
    expect(() => readIsolatedCommand(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
  });

  it.each([undefined, { type: "SYNC", version }, { type: "TURN_ENDED", version: version + 1 }])(
    "the message %j of a pool thread is rejected with an error code",
    (posted) => {
      expect(() => readIsolatedReport(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
    },
  );
});
