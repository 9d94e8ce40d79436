import { describe, expect, it } from "vitest";
import { MESSAGE_TABLE } from "../../src/connection/shared/message-table.ts";
import {
  MAIN_MESSAGE_TYPES,
  readMainMessages,
  readThreadMessages,
  THREAD_MESSAGE_TYPES,
  THREAD_PROTOCOL_VERSION,
} from "../../src/connection/shared/messages.ts";

describe("Message table", () => {
  it("the message table has exactly one row for each message, in its direction", () => {
    const rows = Object.entries(MESSAGE_TABLE);
    const of = (direction: string): string[] =>
      rows.filter(([, row]) => row.direction === direction).map(([type]) => type);
    expect(of("main->thread").sort()).toEqual([...MAIN_MESSAGE_TYPES].sort());
    expect(of("thread->main").sort()).toEqual([...THREAD_MESSAGE_TYPES].sort());
    expect(rows).toHaveLength(MAIN_MESSAGE_TYPES.length + THREAD_MESSAGE_TYPES.length);
  });

  it("the message table pairs every answer with its request", () => {
    for (const [type, row] of Object.entries(MESSAGE_TABLE)) {
      if (row.role === "answer" && type !== "CLOSED") expect(row.correlation, type).not.toBeNull();
    }
  });
});

describe("Reading thread messages", () => {
  it("the reader accepts one message or several", () => {
    expect(readMainMessages({ type: "CLOSE", drainMs: 0 })).toHaveLength(1);
    expect(readThreadMessages([{ type: "CLOSED" }, { type: "CLOSED" }])).toHaveLength(2);
  });

  it.each([undefined, null, 5, "INIT", {}, { type: "NOPE" }, { type: "CLOSED" }, [{ type: "INIT", version: 1 }, {}]])(
    "the message %j from main is rejected with an error code",
    (posted) => {
      expect(() => readMainMessages(posted)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
    },
  );

  it("messages of another version, and unknown message types, are rejected", () => {
    const init = { type: "INIT", version: THREAD_PROTOCOL_VERSION + 1 };
    expect(() => readMainMessages(init)).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
    expect(() => readThreadMessages({ type: "INIT" })).toThrow(expect.objectContaining({ code: "THREAD_PROTOCOL" }));
  });
});
