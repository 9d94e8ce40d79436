import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { TrustInSilence } from "../../src/dispatch/registry/trust-in-silence.ts";

const EVERY_MS = 15_000;

test("silence is trusted after a minute of touches, and not after a gap in them", async () => {
  const clock = fakeClock();
  const silence = new TrustInSilence(clock);
  const touched = async (count: number): Promise<boolean> => {
    for (let n = 0; n < count; n += 1) {
      await clock.advance(EVERY_MS);
      silence.recordTouch();
    }
    return silence.isTrusted;
  };
  expect(silence.isTrusted).toBe(false);
  expect(await touched(3)).toBe(false);
  expect(await touched(1)).toBe(true);
  // The database was away, or this process was stopped.
  await clock.advance(10 * EVERY_MS);
  expect(silence.isTrusted).toBe(false);
  expect(await touched(1)).toBe(false);
  expect(await touched(3)).toBe(false);
  expect(await touched(1)).toBe(true);
});
