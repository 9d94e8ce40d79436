import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { checkCron, latestTickMs, nextTickMs } from "../src/flow/cron.ts";

const at = (text: string): number => Date.parse(text);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const ticks = (cron: string, from: string, count: number): (string | null)[] => {
  const found: (string | null)[] = [];
  let ms: number | null = at(from);
  for (let i = 0; i < count && ms !== null; i++) {
    ms = nextTickMs(cron, ms);
    found.push(iso(ms));
  }
  return found;
};

describe("Cron schedules", () => {
  it("a cron schedule uses UTC without a zone, and the named zone otherwise", () => {
    expect(ticks("0 12 * * 1", "2026-06-01T00:00:00Z", 2)).toEqual([
      "2026-06-01T12:00:00.000Z",
      "2026-06-08T12:00:00.000Z",
    ]);
    expect(ticks("TZ=Europe/Paris 0 12 * * 1", "2026-03-28T00:00:00Z", 1)).toEqual(["2026-03-30T10:00:00.000Z"]);
    expect(ticks("TZ=Europe/Paris 0 12 * * 1", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-05T11:00:00.000Z"]);
    expect(ticks("CRON_TZ=Asia/Kolkata 30 5 * * *", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-02T00:00:00.000Z"]);
    expect(ticks("*/10 * * * * *", "2026-01-01T00:00:01Z", 2)).toEqual([
      "2026-01-01T00:00:10.000Z",
      "2026-01-01T00:00:20.000Z",
    ]);
    expect(ticks("TZ=Europe/Paris 15 30 2 * * *", "2026-01-01T00:00:00Z", 2)).toEqual([
      "2026-01-01T01:30:15.000Z",
      "2026-01-02T01:30:15.000Z",
    ]);
    expect(checkCron("TZ=Europe/Paris 15 30 2 * * *")).toBeNull();
  });

  it("a daily schedule fires once on the days on which clocks change", () => {
    // 02:30 does not exist on 29 March, and comes twice on 25 October.
    expect(ticks("TZ=Europe/Paris 30 2 * * *", "2026-03-28T12:00:00Z", 2)).toEqual([
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    expect(ticks("TZ=Europe/Paris 30 2 * * *", "2026-10-24T12:00:00Z", 2)).toEqual([
      "2026-10-25T00:30:00.000Z",
      "2026-10-26T01:30:00.000Z",
    ]);
    expect(ticks("TZ=America/New_York 30 1 * * *", "2026-10-31T12:00:00Z", 2)).toEqual([
      "2026-11-01T05:30:00.000Z",
      "2026-11-02T06:30:00.000Z",
    ]);
  });

  it("an hourly schedule fires every hour through a clock change", () => {
    expect(ticks("TZ=Europe/Paris 0 * * * *", "2026-10-24T23:30:00Z", 3)).toEqual([
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T02:00:00.000Z",
    ]);
  });

  it.each([
    ["61 * * * *", /not a schedule/],
    ["* * * *", /not a schedule: it has 4 fields; there are five .*or six with seconds in front/],
    ["* * * * * * *", /not a schedule: it has 7 fields/],
    ["TZ=UTC rubbish", /not a schedule: it has 1 field;/],
    ["70 * * * * *", /not a schedule/],
    ["TZ=UTC TZ=Europe/Paris 0 9 * * *", /names two time zones/],
    ["@every 5m", /there is no "@every"; every five minutes is "\*\/5 \* \* \* \*"/],
    ["TZ=Europe/Atlantis 0 0 * * *", /not a schedule/],
    ["0 0 30 2 *", /never/],
    ["", /not a schedule/],
  ])("the schedule %j is rejected", (cron, why) => {
    expect(checkCron(cron)).toMatch(why);
  });

  const zones = ["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"];
  const anyCron = fc
    .tuple(
      fc.constantFrom(...zones),
      fc.constantFrom("0", "*/7", "30", "5,35", "59"),
      fc.constantFrom("*", "2", "1,3", "*/6", "0"),
      fc.constantFrom("*", "1", "31", "L"),
      fc.constantFrom("*", "3", "10"),
      fc.constantFrom("*", "0", "1-5"),
    )
    .map(([zone, ...fields]) => `TZ=${zone} ${fields.join(" ")}`);
  const anyTime = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") });

  it("a schedule always advances, by whole seconds, to a time that matches its fields", () => {
    fc.assert(
      fc.property(anyCron, anyTime, (cron, fromMs) => {
        const next = nextTickMs(cron, fromMs);
        if (next === null) return;
        expect(next).toBeGreaterThan(fromMs);
        expect(next % 1000).toBe(0);
        // Nothing was left out: from any time in between the same tick is found.
        expect(nextTickMs(cron, Math.floor((fromMs + next - 1) / 2))).toBe(next);
        expect(nextTickMs(cron, next - 1)).toBe(next);
      }),
      { numRuns: runs(300) },
    );
  });

  it("the latest missed tick is the one that a search through all ticks finds", () => {
    fc.assert(
      fc.property(anyCron, anyTime, fc.integer({ min: 0, max: 4 * 86_400_000 }), (cron, fromMs, laterMs) => {
        const first = nextTickMs(cron, fromMs);
        if (first === null) return;
        const nowMs = first + laterMs;
        let expected = first;
        for (let next = nextTickMs(cron, expected); next !== null && next <= nowMs; next = nextTickMs(cron, next))
          expected = next;
        expect(iso(latestTickMs(cron, first, nowMs))).toBe(iso(expected));
      }),
      { numRuns: runs(200) },
    );
  });
});
