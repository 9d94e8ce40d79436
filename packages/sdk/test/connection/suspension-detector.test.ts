import { describe, expect, test } from "vitest";
import { SuspensionDetector } from "../../src/connection/thread/suspension-detector.ts";
import { type SeenByClocks, suspensionText } from "../../src/connection/thread/suspension-text.ts";

/** What the detector emits when both clocks have moved by so much between two signs of life. */
function seenAfter(monotonicMs: number, wallMs: number) {
  const now = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };
  const emitted: SeenByClocks[] = [];
  const detector = new SuspensionDetector(
    {
      clock: { monotonicMs: () => now.monotonicMs, nowMs: () => now.wallMs },
      timers: { set: () => ({ cancel() {} }) },
      counters: { signAlive() {}, setSuspensionLimit() {} },
    },
    (effect) => void emitted.push(effect),
  );
  now.monotonicMs += monotonicMs;
  now.wallMs += wallMs;
  detector.check();
  detector.stop();
  return emitted;
}

describe("A connection thread that doubts its clocks", () => {
  test.each([
    ["that stood still says for how long", 15_000, 15_000, /did not run for 15000 ms/],
    ["that stood still while its clock was set back says for how long", 15_000, -60_000, /did not run for 15000 ms/],
    ["does not say that it stood still when its clock was set back", 7, -7_200_000, /clock was set back by 7200 s/],
    [
      "says what a clock that jumped ahead may mean",
      21,
      3_600_021,
      /jumped ahead by 3600 s, or the machine was suspended/,
    ],
  ])("%s", (_what, monotonicMs, wallMs, said) => {
    const [seen] = seenAfter(monotonicMs, wallMs);
    expect(seen && suspensionText(seen)).toMatch(said);
    expect(seen && suspensionText(seen)).toMatch(/each request it holds is confirmed before it starts\.$/);
  });

  test("says nothing of a clock that is set right by less than a second, and is careful all the same", () => {
    expect(suspensionText({ stoodMs: 100, jumpMs: -900, limitMs: 500 })).toBeNull();
    expect(suspensionText({ stoodMs: 600, jumpMs: 0, limitMs: 500 })).toMatch(/did not run for 600 ms/);
    expect(seenAfter(250, 1_900)).toEqual([]);
  });
});
