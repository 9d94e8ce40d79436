import type { Wake } from "@holdfast/store";
import { describe, expect, it } from "vitest";

import { readWakeMessage, wakeMessages } from "../../src/store-postgres/wake-messages.ts";

const heard = (messages: readonly string[]): Wake[] =>
  messages.flatMap((message) => readWakeMessage(message)?.wakes ?? []);
const ids = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe("Messages between gateways", () => {
  it("simultaneous wake-ups of a kind are combined in one message", () => {
    const wakes: Wake[] = [
      { type: "jobs", functionIds: ["a"] },
      { type: "given", requestIds: ["j.2"] },
      { type: "jobs", functionIds: ["a", "b"] },
      { type: "functions" },
      { type: "ended", runIds: ["r"] },
      { type: "removed", jobIds: ["k"] },
      { type: "held", functionIds: ["h"] },
      { type: "unplaced", functionIds: ["u"] },
    ];
    const messages = wakeMessages("me", wakes);
    expect(messages).toHaveLength(1);
    expect(heard(messages)).toEqual([
      { type: "jobs", functionIds: ["a", "b"] },
      { type: "given", requestIds: ["j.2"] },
      ...wakes.slice(3),
    ]);
  });

  it("wake-ups too large for one message are split, and no message exceeds the server's limit", () => {
    const wakes: Wake[] = [
      { type: "given", requestIds: ids(500, "01M80SDE4HZCDE6X8XD23N19KN.") },
      { type: "jobs", functionIds: ["a"] },
    ];
    const messages = wakeMessages("me", wakes);
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8_000);
    const given = heard(messages).flatMap((wake) => (wake.type === "given" ? wake.requestIds : []));
    expect(given).toEqual(wakes[0]?.type === "given" ? wakes[0].requestIds : []);
    expect(heard(messages)).toContainEqual({ type: "jobs", functionIds: ["a"] });
  });

  it.each([
    ["too many ids", { type: "given", requestIds: ids(50_000, "01M80SDE4HZCDE6X8XD23N19KN.") }],
    ["an id that is too long", { type: "jobs", functionIds: ["x".repeat(5_000)] }],
  ] satisfies [string, Wake][])(
    "a wake-up too large to send becomes a message that some may have been missed: %s",
    (_what, wake) => {
      expect(heard(wakeMessages("me", [wake]))).toContainEqual({ type: "all" });
    },
  );

  it.each(["", "{", "null", "[]", '{"from":1,"wakes":[]}', '{"from":"x","wakes":5}'])(
    "%j is not a wake-up message",
    (payload) => {
      expect(readWakeMessage(payload)).toBeNull();
    },
  );

  it("unknown fields of a wake-up message are ignored", () => {
    const wakes = [{ type: "nope" }, null, 5, { type: "ended", runIds: [1, "r"] }, { type: "removed" }];
    expect(readWakeMessage(JSON.stringify({ from: "x", wakes }))?.wakes).toEqual([
      { type: "ended", runIds: ["r"] },
      { type: "removed", jobIds: [] },
    ]);
  });
});
