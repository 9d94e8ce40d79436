/**
 * Tortures one function: runs it, calmly first, then with something going wrong in each round, and says what is wrong. A
 * caller asks for round after round, so that it can read the effects of each run in between.
 */
import { HoldfastError, sleep, type Timers } from "@holdfast/core";
import type { FrameListener } from "../conversations.ts";
import type { ListedFault } from "../rules/fault-book.ts";
import { invalid } from "../rules/read-rule.ts";
import { problemsOf, reportOf, type TortureReport } from "./judge.ts";
import { CALM_ROUNDS, calmRounds, faultsOfRound, onlyRound, planRounds } from "./plan.ts";
import { RunWatch } from "./run-watch.ts";
import type { PlayedRound, Problem, Round, SeenRun } from "./torture-types.ts";

export interface TortureOptions {
  /** Its full name. */
  readonly functionId: string;
  readonly data: unknown;
  readonly seed: number;
  /** How many rounds in which everything goes wrong. */
  readonly chaosRounds: number;
  /** Only this one, after the calm ones; null = all. */
  readonly round: number | null;
  /** How long a run may take. */
  readonly roundMs: number;
}

/** What became of a run. */
export interface RunEnd {
  readonly status: string;
  readonly isEnded: boolean;
  readonly isWaiting: boolean;
  readonly output: unknown;
  readonly error: unknown;
  readonly waits: string | null;
}

export interface TorturePorts {
  readonly timers: Timers;
  readonly monotonicMs: () => number;
  readonly listen: (listener: FrameListener) => () => void;
  readonly addFault: (fault: unknown) => Promise<ListedFault>;
  readonly removeFault: (id: string) => void;
  readonly faultTexts: (ids: readonly string[]) => readonly string[];
  /** Makes a run of the function, and nothing else. */
  readonly start: (data: unknown) => Promise<{ readonly runId: string; readonly eventId: string }>;
  readonly cancel: (runId: string) => Promise<unknown>;
  readonly read: (runId: string) => Promise<RunEnd>;
  /** Moves time on to what the run waits for; undefined without virtual time. */
  readonly skipToNext: (() => Promise<void>) | undefined;
}

export interface RoundResult {
  readonly round: Round;
  readonly run: SeenRun;
}

const LOOK_MS = 10;
/** A run that waits is given this long to go on by itself before time is moved on. */
const SETTLE_MS = 100;

export class Torturer {
  readonly #options: TortureOptions;
  readonly #ports: TorturePorts;
  readonly #played: PlayedRound[] = [];
  readonly #problems: Problem[] = [];
  #rounds: Round[];
  #isPlanned = false;
  /** What was played last, until its effects are known. */
  #unjudged: RoundResult | null = null;
  #isBusy = false;

  constructor(options: TortureOptions, ports: TorturePorts) {
    this.#options = options;
    this.#ports = ports;
    this.#rounds = calmRounds(options.seed);
  }

  get seed(): number {
    return this.#options.seed;
  }

  get functionId(): string {
    return this.#options.functionId;
  }

  /** How many rounds there are, as far as that is known. */
  get rounds(): number | null {
    return this.#isPlanned ? this.#played.length + this.#rounds.length : null;
  }

  /**
   * Judges the last round by its effects, and plays the next one; null: there is none any more, see `report`.
   * @throws HoldfastError `FAULT_INVALID` when one is under way, or when the function does not end by itself
   */
  async next(effectsJson: string | null): Promise<RoundResult | null> {
    if (this.#isBusy) throw invalid("A round of this torture is under way: ask for the next one when it is over.");
    this.#isBusy = true;
    try {
      this.#judge(effectsJson);
      const round = this.#rounds.shift();
      if (!round) return null;
      this.#unjudged = await this.#play(round);
      this.#checkCalm(this.#unjudged);
      return this.#unjudged;
    } finally {
      this.#isBusy = false;
    }
  }

  report(): TortureReport {
    const { functionId, seed } = this.#options;
    return reportOf({ functionId, seed }, this.#played, this.#problems);
  }

  #judge(effectsJson: string | null): void {
    const result = this.#unjudged;
    if (!result) return;
    this.#unjudged = null;
    this.#played.push({ ...result, effectsJson });
    // The calm ones stay for comparison; of the others only the newest is compared.
    const calm = this.#played.slice(0, CALM_ROUNDS);
    const last = this.#played.at(-1);
    const compared = this.#played.length <= CALM_ROUNDS || !last ? calm : [...calm, last];
    this.#problems.push(...problemsOf(compared));
    if (this.#played.length < CALM_ROUNDS || this.#isPlanned) return;
    const { seed, chaosRounds, round } = this.#options;
    const planned = planRounds(result.run, seed, chaosRounds);
    this.#rounds = round === null ? planned : onlyRound(planned, round);
    this.#isPlanned = true;
  }

  /** What does not end by itself cannot be compared. */
  #checkCalm({ round, run }: RoundResult): void {
    if (round.plan.kind !== "calm" || run.waits === null) return;
    const time = this.#ports.skipToNext ? "" : " Sleeps are skipped on a gateway with --virtual-time.";
    throw new HoldfastError(
      "FAULT_INVALID",
      `A run of ${this.#options.functionId} in which nothing went wrong did not end within ${this.#options.roundMs} ms: ${run.waits}${time}`,
    );
  }

  async #play(round: Round): Promise<RoundResult> {
    const { functionId, data } = this.#options;
    const { addFault, removeFault, listen, start, faultTexts } = this.#ports;
    const watches = new Map<string, RunWatch>();
    const stop = listen((frame) => {
      const runId = frame.functionId() === functionId ? frame.runId() : null;
      if (runId === null) return;
      const watch = watches.get(runId) ?? new RunWatch();
      watches.set(runId, watch);
      watch.onFrame(frame);
    });
    const added: string[] = [];
    try {
      for (const fault of faultsOfRound(round, functionId)) added.push((await addFault(fault)).id);
      const { runId, eventId } = await start(data);
      const end = await this.#awaitEnd(runId);
      const watch = watches.get(runId) ?? new RunWatch();
      return { round, run: seenRun({ runId, eventId }, end, watch, faultTexts(added)) };
    } finally {
      for (const id of added) removeFault(id);
      stop();
    }
  }

  async #awaitEnd(runId: string): Promise<RunEnd> {
    const { timers, monotonicMs, read, cancel, skipToNext } = this.#ports;
    const beganMs = monotonicMs();
    let movedMs = beganMs;
    for (;;) {
      const end = await read(runId);
      if (end.isEnded) return end;
      const nowMs = monotonicMs();
      if (nowMs - beganMs >= this.#options.roundMs) {
        await cancel(runId);
        return { ...end, waits: end.waits ?? "it still runs." };
      }
      if (!end.isWaiting) movedMs = nowMs;
      else if (skipToNext && nowMs - movedMs >= SETTLE_MS) {
        movedMs = nowMs;
        await skipToNext();
      }
      await sleep(timers, LOOK_MS);
    }
  }
}

function seenRun(
  ids: { readonly runId: string; readonly eventId: string },
  end: RunEnd,
  watch: RunWatch,
  faults: readonly string[],
): SeenRun {
  return {
    ...ids,
    status: end.isEnded ? end.status : "NOT_ENDED",
    outputJson: end.output === undefined ? null : JSON.stringify(end.output),
    error: errorOf(end.error),
    waits: end.isEnded ? null : end.waits,
    bodies: watch.bodies,
    commits: watch.commits,
    faults,
  };
}

function errorOf(value: unknown): SeenRun["error"] {
  if (typeof value !== "object" || value === null) return null;
  const { name, message, code } = value as {
    readonly name?: unknown;
    readonly message?: unknown;
    readonly code?: unknown;
  };
  return {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : JSON.stringify(value),
    code: typeof code === "string" ? code : null,
  };
}
