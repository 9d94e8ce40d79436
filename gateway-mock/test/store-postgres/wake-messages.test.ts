import type { Wake } from "@holdfast/store";
import { describe, expect, it } from "vitest";

import { readWakeMessage, wakeMessages } from "../../src/store-postgres/wake-messages.ts";

const heard = (messages: readonly string[]): Wake[] =>
  messages.flatMap((message) => readWakeMessage(message)?.wakes ?? []);
const ids = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

describe("Messages between gateways", () => {
  it("simultaneous wake-ups of a kind are combined in one message", () => {
    const wakes: Wake[] = [
      { type: "JOBS_DUE", functionIds: ["a"] },
      { type: "JOBS_REDISPATCHED", requestIds: ["j.2"] },
      { type: "JOBS_DUE", functionIds: ["a", "b"] },
      { type: "REGISTRY_CHANGED" },
      { type: "RUNS_ENDED", runIds: ["r"] },
      { type: "JOBS_REMOVED", jobIds: ["k"] },
      { type: "JOBS_HELD", functionIds: ["h"] },
      { type: "VERSIONS_CHANGED", functionIds: ["u"] },
    ];
    const messages = wakeMessages("me", wakes);
    expect(messages).toHaveLength(1);
    expect(heard(messages)).toEqual([
      { type: "JOBS_DUE", functionIds: ["a", "b"] },
      { type: "JOBS_REDISPATCHED", requestIds: ["j.2"] },
      ...wakes.slice(3),
    ]);
  });

  it("wake-ups too large for one message are split, and no message exceeds the server's limit", () => {
    const wakes: Wake[] = [
      { type: "JOBS_REDISPATCHED", requestIds: ids(500, "01M80SDE4HZCDE6X8XD23N19KN.") },
      { type: "JOBS_DUE", functionIds: ["a"] },
    ];
    const messages = wakeMessages("me", wakes);
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8_000);
    const given = heard(messages).flatMap((wake) => (wake.type === "JOBS_REDISPATCHED" ? wake.requestIds : []));
    expect(given).toEqual(wakes[0]?.type === "JOBS_REDISPATCHED" ? wakes[0].requestIds : []);
    expect(heard(messages)).toContainEqual({ type: "JOBS_DUE", functionIds: ["a"] });
  });

  it.each([
    ["too many ids", { type: "JOBS_REDISPATCHED", requestIds: ids(50_000, "01M80SDE4HZCDE6X8XD23N19KN.") }],
    ["an id that is too long", { type: "JOBS_DUE", functionIds: ["x".repeat(5_000)] }],
  ] satisfies [string, Wake][])(
    "a wake-up too large to send becomes a message that some may have been missed: %s",
    (_what, wake) => {
      expect(heard(wakeMessages("me", [wake]))).toContainEqual({ type: "ANYTHING" });
    },
  );

  it.each(["", "{", "null", "[]", '{"from":1,"wakes":[]}', '{"from":"x","wakes":5}'])(
    "%j is not a wake-up message",
    (payload) => {
      expect(readWakeMessage(payload)).toBeNull();
    },
  );

  it("unknown fields of a wake-up message are ignored", () => {
    const wakes = [{ type: "nope" }, null, 5, { type: "RUNS_ENDED", runIds: [1, "r"] }, { type: "JOBS_REMOVED" }];
    expect(readWakeMessage(JSON.stringify({ from: "x", wakes }))?.wakes).toEqual([
      { type: "RUNS_ENDED", runIds: ["r"] },
      { type: "JOBS_REMOVED", jobIds: [] },
    ]);
  });
});
