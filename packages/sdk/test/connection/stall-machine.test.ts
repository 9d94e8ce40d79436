import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import {
  createStallStep,
  initialStall,
  STALL_LIMITS,
  type StallEffect,
  type StallEvent,
  type StallRules,
  type StallState,
} from "../../src/connection/machines/stall-machine.ts";

const rules: StallRules = { thresholdMs: 1_000, maxStallMs: null, pulseMs: 125 };

/** Plays events and keeps what came of them, with the time of each. */
class Play {
  state: StallState = initialStall(0, 0);
  atMs = 0;
  pulse = 0;
  readonly effects: { readonly atMs: number; readonly effect: StallEffect }[] = [];
  readonly #step;

  constructor(changes: Partial<StallRules> = {}) {
    this.#step = createStallStep({ ...rules, ...changes });
  }

  get names(): string[] {
    return this.effects.map(({ effect }) => effect.do);
  }

  send(event: StallEvent): readonly StallEffect[] {
    const [state, effects] = this.#step(this.state, event);
    this.state = state;
    this.effects.push(...effects.map((effect) => ({ atMs: this.atMs, effect })));
    return effects;
  }

  look(
    afterMs: number,
    changes: { readonly moves?: boolean; readonly debugged?: boolean; readonly waitedMs?: number } = {},
  ): readonly StallEffect[] {
    this.atMs += afterMs;
    if (changes.moves) this.pulse += 1;
    const { debugged = false, waitedMs = null } = changes;
    return this.send({ type: "SAMPLE", atMs: this.atMs, pulse: this.pulse, debugged, waitedMs });
  }

  /** Looks every pulse for so long, while main waits for a processor for this part of the time. */
  starve(ms: number, part: number): void {
    this.look(0, { moves: true, waitedMs: 0 });
    for (let passed = rules.pulseMs; passed <= ms; passed += rules.pulseMs) {
      this.look(rules.pulseMs, { waitedMs: passed * part });
    }
  }

  get causes(): string[] {
    return this.effects.flatMap(({ effect }) => (effect.do === "REPORT" ? [effect.cause] : []));
  }

  heard(afterMs = 0): readonly StallEffect[] {
    this.atMs += afterMs;
    return this.send({ type: "MESSAGE", atMs: this.atMs });
  }

  /** Looks every pulse for so long. */
  stand(ms: number, everyMs = rules.pulseMs): void {
    for (let left = ms; left > 0; left -= everyMs) this.look(Math.min(left, everyMs));
  }
}

describe("Stall machine", () => {
  test("a stall begins after the threshold and one pulse, is reported and pauses intake at once (STALL-1)", () => {
    const play = new Play();
    play.stand(1_100);
    expect(play.names).toEqual([]);
    play.stand(125);
    expect(play.names).toEqual(["PAUSE", "REPORT"]);
  });

  test("a stall ends with the next sign of life, and its duration is reported", () => {
    const play = new Play();
    play.stand(1_500);
    expect(play.look(125, { moves: true })).toEqual([
      { do: "RESUME" },
      { do: "ENDED", stalledMs: 1_625, waitedMs: 0, reports: 1, gaveUp: false },
    ]);
    expect(play.heard(1)).toEqual([]);
  });

  test("a message from main ends a stall even before its sign of life is seen", () => {
    const play = new Play();
    play.stand(1_500);
    expect(play.heard(20).map((effect) => effect.do)).toEqual(["RESUME", "ENDED"]);
  });

  test("a stall is reported again at intervals that double, up to a minute (STALL-4)", () => {
    const play = new Play();
    play.stand(400_000);
    const times = play.effects.flatMap(({ atMs, effect }) => (effect.do === "REPORT" ? [atMs] : []));
    expect(times.slice(0, 6)).toEqual([1_125, 2_250, 4_500, 9_000, 18_000, 36_000]);
    expect(times.slice(6).every((at, index) => at - (times[index + 5] as number) === 60_000 || index === 0)).toBe(true);
  });

  test("a stall returns its leases once, and reclaims them at its end (STALL-3, STALL-6)", () => {
    const play = new Play({ maxStallMs: 3_000 });
    play.stand(10_000);
    play.look(125, { moves: true });
    expect(play.names.filter((name) => name !== "REPORT")).toEqual(["PAUSE", "GIVE_UP", "RECLAIM", "RESUME", "ENDED"]);
    expect(play.effects.find(({ effect }) => effect.do === "GIVE_UP")?.atMs).toBe(3_000);
  });

  test("a process that was stopped has not stalled (STALL-2)", () => {
    const play = new Play();
    play.look(60_000);
    expect(play.names).toEqual([]);
    play.look(125, { moves: true });
    play.look(60_000);
    expect(play.names).toEqual([]);
  });

  test("a main thread that a debugger may have stopped has not stalled (STALL-7)", () => {
    const play = new Play();
    for (let turn = 0; turn < 100; turn++) play.look(125, { debugged: true });
    expect(play.names).toEqual([]);
  });

  test("what main waited for a processor is not held against its code (STALL-8)", () => {
    const idle = new Play();
    idle.starve(5_000, 1);
    expect(idle.causes).toEqual(["no-cpu"]);
    expect(idle.names.slice(0, 2)).toEqual(["PAUSE", "REPORT"]);
    expect(idle.look(125, { moves: true }).at(-1)).toMatchObject({ do: "ENDED", waitedMs: 5_000 });
    const sleeping = new Play();
    sleeping.starve(5_000, 0);
    expect(new Set(sleeping.causes)).toEqual(new Set(["blocked"]));
  });

  test("code that computes on half a processor is found out as soon as its own time is over the threshold (STALL-8)", () => {
    const play = new Play();
    play.starve(4_000, 0.5);
    const reports = play.effects.flatMap(({ atMs, effect }) => (effect.do === "REPORT" ? [[atMs, effect.cause]] : []));
    expect(reports.slice(0, 2)).toEqual([
      [1_125, "no-cpu"],
      [2_000, "blocked"],
    ]);
    expect(reports.slice(2).every(([, cause]) => cause === "blocked")).toBe(true);
  });

  test("that no processor is there is reported once a minute (STALL-8)", () => {
    const play = new Play();
    for (let round = 0; round < 60; round += 1) play.starve(2_000, 1);
    const times = play.effects.flatMap(({ atMs, effect }) => (effect.do === "REPORT" ? [atMs] : []));
    expect(times).toHaveLength(2);
    const suppressed = play.effects.flatMap(({ effect }) => (effect.do === "REPORT" ? [effect.suppressed] : []));
    expect(suppressed[1]).toBeGreaterThan(20);
  });

  test("where the kernel counts nothing, a thread that is late itself says that there is no processor (STALL-9)", () => {
    const play = new Play();
    play.stand(6_000, 1_000);
    expect(play.causes[0]).toBe("no-cpu");
    const punctual = new Play();
    punctual.stand(6_000);
    expect(punctual.causes[0]).toBe("blocked");
  });

  test("without a threshold a stall is measured but causes no action", () => {
    const play = new Play({ thresholdMs: null });
    play.stand(60_000);
    expect(play.names).toEqual([]);
    expect(play.state.sample.blockedMs).toBe(60_000);
  });
});

test("reports of many short stalls are limited, and suppressed ones are counted and reported (STALL-5)", () => {
  const play = new Play();
  for (let stall = 0; stall < 40; stall++) {
    play.stand(1_125);
    play.look(125, { moves: true });
  }
  // 50 s: the first ten were reported.
  expect(play.names.filter((name) => name === "REPORT")).toHaveLength(STALL_LIMITS.reportsPerMinute);
  expect(play.names.filter((name) => name === "ENDED")).toHaveLength(40);
  for (let turn = 0; turn < 200; turn++) play.look(125, { moves: true });
  play.stand(1_125);
  const last = play.effects.filter(({ effect }) => effect.do === "REPORT").at(-1);
  expect(last?.effect).toMatchObject({ suppressed: 30 });
});

const anyTurn = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("still" as const), ms: fc.integer({ min: 1, max: 900 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("moves" as const), ms: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("heard" as const), ms: fc.integer({ min: 0, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("debugged" as const), ms: fc.integer({ min: 1, max: 400 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("asleep" as const), ms: fc.integer({ min: 5_000, max: 100_000 }) }),
  },
);

test("STALL-1 to STALL-7 hold for random sequences", () => {
  fc.assert(
    fc.property(
      fc.array(anyTurn, { maxLength: 300 }),
      fc.constantFrom(null, 1_000, 2_500, 10_000),
      (turns, maxStallMs) => {
        const play = new Play({ maxStallMs });
        let quietMs = 0;
        let reportsOfStall = 0;
        let lastReportMs = 0;
        let untold = 0;
        let lastCause: string | undefined;
        for (const { kind, ms } of turns) {
          const before = play.state;
          const effects =
            kind === "heard"
              ? play.heard(ms)
              : play.look(ms, { moves: kind === "moves", debugged: kind === "debugged" });
          const sign = kind === "moves" || kind === "heard" || kind === "debugged";
          quietMs = sign ? 0 : quietMs + Math.min(ms, 3 * rules.pulseMs);
          for (const effect of effects) {
            if (effect.do === "PAUSE") {
              expect(quietMs, "W1, W2").toBeGreaterThanOrEqual(1_000 + rules.pulseMs);
              reportsOfStall = 0;
              lastCause = undefined;
            }
            if (effect.do === "REPORT") {
              expect(effect.suppressed, "STALL-5").toBe(untold);
              untold = 0;
              // That it is code's fault after all is said at once.
              if (reportsOfStall > 0 && effect.cause === lastCause) {
                expect(effect.stalledMs - lastReportMs, "STALL-4").toBeGreaterThanOrEqual(
                  Math.min(lastReportMs, 60_000),
                );
              }
              reportsOfStall += 1;
              lastReportMs = effect.stalledMs;
              expect([lastCause, effect.cause].join(), "STALL-8").not.toBe("blocked,no-cpu");
              lastCause = effect.cause;
            }
            if (effect.do === "GIVE_UP") {
              expect(maxStallMs, "STALL-6").not.toBeNull();
              expect(quietMs, "STALL-6").toBeGreaterThanOrEqual(maxStallMs ?? 0);
            }
            if (effect.do === "ENDED") expect(effect.reports).toBe(reportsOfStall);
          }
          if (kind === "debugged") expect(play.state.phase, "STALL-7").toBe("responsive");
          const { suppressed } = play.state.history;
          expect(suppressed).toBeGreaterThanOrEqual(untold);
          untold = suppressed;
          if (before.phase === "responsive" && play.state.phase === "responsive") expect(effects).toEqual([]);
        }
        const turnsOf = (...names: string[]): string => play.names.filter((name) => names.includes(name)).join(" ");
        expect(turnsOf("PAUSE", "RESUME"), "STALL-3").toMatch(/^(PAUSE RESUME ?)*(PAUSE)?$/);
        expect(turnsOf("GIVE_UP", "RECLAIM"), "STALL-3").toMatch(/^(GIVE_UP RECLAIM ?)*(GIVE_UP)?$/);
        expect(turnsOf("PAUSE", "ENDED"), "STALL-3").toMatch(/^(PAUSE ENDED ?)*(PAUSE)?$/);
        const times = play.effects.flatMap(({ atMs, effect }) => (effect.do === "REPORT" ? [atMs] : []));
        for (const [index, at] of times.entries()) {
          const earlier = times[index - STALL_LIMITS.reportsPerMinute];
          if (earlier !== undefined) expect(at - earlier, "STALL-5").toBeGreaterThanOrEqual(60_000);
        }
      },
    ),
    { numRuns: runs(1_000) },
  );
});
