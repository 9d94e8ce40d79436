import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Allowance } from "../../src/ws/allowance.ts";
import { LogLimit } from "../../src/ws/log-limit.ts";

test("the log limit allows a burst, then one line per interval, never more than the burst", () => {
  const allowance = new Allowance({ burst: 3, everyMs: 10 }, 0);
  const taken = (nowMs: number, tries: number): number =>
    Array.from({ length: tries }, () => allowance.take(nowMs)).filter(Boolean).length;
  expect(taken(0, 10)).toBe(3);
  expect(taken(9, 10)).toBe(0);
  expect(taken(10, 10)).toBe(1);
  expect(taken(29, 10)).toBe(1);
  expect(taken(30, 10)).toBe(1);
  expect(taken(1_000_000, 10)).toBe(3);
  expect(taken(999_000, 10)).toBe(0);
});

test("a limited log reports how many lines it left out, and truncates long ones", async () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = (_: string, message: string, data?: unknown): void =>
    void lines.push(`${message} ${JSON.stringify(data)}`);
  const options = { burst: 2, everyMs: 1000, reportMs: 5000, maxChars: 10, subject: "a peer" };
  const limit = new LogLimit({ log, clock, timers: clock }, options);
  for (let n = 0; n < 100; n += 1) limit.log("warn", `line ${n}`, { id: "x".repeat(20), n });
  expect(lines).toEqual([
    'line 0 {"id":"xxxxxxxxxx... (20 characters)","n":0}',
    'line 1 {"id":"xxxxxxxxxx... (20 characters)","n":1}',
  ]);
  await clock.advance(5000);
  expect(lines.slice(2)).toEqual([
    '98 more line(s) about a peer were suppressed. {"id":"xxxxxxxxxx... (20 characters)","n":99}',
  ]);
  limit.log("warn", "a line that is longer");
  expect(lines.at(-1)).toBe("a line tha... (21 characters) undefined");
  limit.flush();
  await clock.advance(60_000);
  expect(lines).toHaveLength(4);
});
