import { describe, expect, test } from "vitest";
import { clockText } from "../src/data/clock-text.ts";
import {
  isAnswering,
  linkNotice,
  linkOf,
  linkText,
  NOTHING_WRONG,
  type Observed,
  PATIENCE_MS,
} from "../src/data/link.ts";

const NOW = Date.parse("2027-01-31T10:00:00Z");
const link = (observed: Partial<Observed>) => linkOf({ ...NOTHING_WRONG, ...observed }, NOW);

describe("The link to the gateway", () => {
  test("is live as long as nothing is wrong, also while an answer is awaited for a moment", () => {
    expect(link({})).toEqual({ type: "live" });
    expect(link({ askedMs: NOW - PATIENCE_MS + 1 })).toEqual({ type: "live" });
  });

  test("is away since its stream broke off or it could not be reached, whichever came first", () => {
    expect(link({ streamCutMs: NOW - 9_000, unreachableMs: NOW - 8_000 })).toEqual({
      type: "away",
      sinceMs: NOW - 9_000,
    });
    expect(link({ unreachableMs: NOW - 8_000 })).toEqual({ type: "away", sinceMs: NOW - 8_000 });
  });

  test("is silent since the first question without an answer", () => {
    expect(link({ askedMs: NOW - PATIENCE_MS, streamCutMs: NOW })).toEqual({
      type: "silent",
      sinceMs: NOW - PATIENCE_MS,
    });
  });

  test("is not silent while its stream brings something that is newer than the question", () => {
    const askedMs = NOW - 2 * PATIENCE_MS;
    expect(link({ askedMs, heardMs: askedMs - 1 })).toEqual({ type: "silent", sinceMs: askedMs });
    expect(link({ askedMs, heardMs: askedMs + 1 })).toEqual({ type: "held", sinceMs: askedMs });
    expect(isAnswering(link({ askedMs, heardMs: askedMs + 1 }))).toBe(true);
    const longAgoMs = NOW - 60_000;
    expect(link({ askedMs: longAgoMs, heardMs: longAgoMs + 1 })).toEqual({ type: "silent", sinceMs: longAgoMs });
  });

  test("tells a gateway that cannot work from a stream that is broken off", () => {
    const unready = { sinceMs: NOW - 5_000, reason: "no database" };
    expect(link({ unready, streamCutMs: NOW })).toEqual({ type: "unready", ...unready });
    expect(link({ streamCutMs: NOW - 5_000 })).toEqual({ type: "cut", sinceMs: NOW - 5_000 });
  });

  test("is asked for nothing while it answers nothing", () => {
    const all = [
      link({}),
      link({ streamCutMs: NOW }),
      link({ unready: { sinceMs: NOW, reason: "" } }),
      link({ unreachableMs: NOW }),
      link({ askedMs: NOW - PATIENCE_MS }),
    ];
    expect(all.map(isAnswering)).toEqual([true, true, true, false, false]);
  });

  test("is put into words with the time, once it is no matter of a moment", () => {
    const time = clockText(NOW - 5_000, NOW);
    expect(linkText(link({}), NOW)).toBeNull();
    expect(linkText(link({ unreachableMs: NOW }), NOW)).toBeNull();
    expect(linkText(link({ streamCutMs: NOW - 1_000 }), NOW)).toBeNull();
    expect(linkText(link({ unreachableMs: NOW - 5_000 }), NOW)).toBe(`The gateway has been away since ${time}.`);
    expect(linkNotice(link({ askedMs: NOW - 5_000 }), NOW)).toBe(
      `The gateway has not answered since ${time}. What is shown is from before; it is asked again and again.`,
    );
    expect(linkNotice(link({ unready: { sinceMs: NOW - 5_000, reason: "draining" } }), NOW)).toBe(
      `The gateway has not been ready for work since ${time}: draining`,
    );
  });
});

test("a time of another day has its day", () => {
  expect(clockText(NOW, NOW)).toMatch(/^\d\d:\d\d:00$/);
  expect(clockText(NOW - 3 * 86_400_000, NOW)).toMatch(/^2[78] Jan, \d\d:\d\d:00$/);
});
