/**
 * Ends waits by events that came before they began (`since: "run"`). The job that asks for it is stored with the wait,
 * so another gateway repeats it when this one dies (docs/decisions/0096).
 */
import { firstIdAt, messageOf, Semaphore, ulidTimeMs } from "@holdfast/core";
import {
  consumedEvents,
  type EarlierWait,
  type Expressions,
  isEnded,
  type RunState,
  seenTextInTurns,
} from "@holdfast/engine";
import { environmentOf, type Fence, levelFor, qualify } from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { RunCache } from "../run-cache.ts";
import { KeptJobs } from "./kept-jobs.ts";
import type { RunUpdater } from "./run-updater.ts";

export interface EarlierEventsParts {
  readonly runs: RunCache;
  readonly updater: RunUpdater;
  readonly time: DatabaseTime;
  readonly expressions: Expressions;
}

/** Of a job; it is extended while the job goes on (`KeptJobs`). */
export const EARLIER_LEASE_MS = 20_000;
const MAX_JOBS = 512;
/** Each is a statement that reads this many events; the database's connections are for others, too. */
const SCANS_AT_ONCE = 2;
const PAGE_SIZE = 20_000;
const PAYLOADS_AT_ONCE = 50;
/**
 * Ids say when an event was sent by the clock of the gateway or of the sender: they may be off by this much. Where a test
 * has moved the database's time, ids stay with the machine's; so does that of the run.
 */
const ID_SKEW_MS = 10 * 60_000;
/** Waits of which is remembered that nothing came before them; of others it is looked for once more. */
const MOST_SURE = 10_000;
/** Writes are over after some milliseconds. A look before that would have to be repeated. */
const SHORT_WAIT_MS = 50;
const MIN_REST_MS = 2;
const MAX_REST_MS = 2_000;

/** A step that waits for an event that may have come before. */
interface Sought {
  readonly runId: string;
  readonly key: string;
}

type Looked = "given" | "nothing" | "over";

/**
 * Looks among the stored events for one that a wait may have missed. An event and a wait that are stored at the same
 * time may not see each other, so:
 *
 * EARLIER-1. What is stored by a write that began after the wait was stored finds the wait, and ends it.
 * EARLIER-2. What is stored by a write that began before is looked for here: the last look begins when all writes are
 *     over that were under way after the wait was stored. A look before that finds what is there already.
 * EARLIER-3. A wait ends once, with one event, whichever way it comes: the decision on the run says so.
 * EARLIER-4. An event that ended a step of the run before the wait began does not count again, nor do the events that
 *     the run was made of.
 * EARLIER-5. Before a later event ends a wait whose last look is not known to be over, it is looked for earlier ones.
 */
export class EarlierEvents {
  readonly #options: DispatcherOptions;
  readonly #parts: EarlierEventsParts;
  readonly #busy = new Set<Promise<void>>();
  readonly #kept: KeptJobs;
  readonly #scans = new Semaphore(SCANS_AT_ONCE);
  /** Ends of the rests between two looks. */
  readonly #resting = new Set<() => void>();
  /** Waits that nothing came before, the oldest first. */
  readonly #sure = new Set<string>();
  #stopped = false;

  constructor(options: DispatcherOptions, parts: EarlierEventsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#kept = new KeptJobs(options, EARLIER_LEASE_MS);
  }

  get room(): number {
    return this.#stopped ? 0 : Math.max(0, MAX_JOBS - this.#busy.size);
  }

  /** Works on a job that is leased to this gateway; its key is the run's id and the step's. */
  startJob(jobKey: string, fence: Fence): void {
    const [runId = "", key = ""] = jobKey.split(" ");
    const work = this.#runJob({ runId, key }, fence).finally(() => this.#busy.delete(work));
    this.#busy.add(work);
  }

  /**
   * Gives a wait the oldest event that it may have, if that may have come before it began. False: none has, or this
   * gateway stops.
   * @throws HoldfastError `STORE_FAILED`
   */
  async giveEarlier(sought: Sought): Promise<boolean> {
    const waiting = await this.#waitOf(sought);
    if (waiting && this.#sure.has(placeOf(sought, waiting.state))) return false;
    const looked = await this.#look(sought);
    return looked === "given" || looked === "over";
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of this.#resting) end();
    await Promise.all(this.#busy);
  }

  async #runJob(sought: Sought, fence: Fence): Promise<void> {
    const { store, log, settings } = this.#options;
    const { runs } = this.#parts;
    this.#kept.keep(fence);
    runs.retain(sought.runId);
    try {
      if (await this.#lookUntilSure(sought)) await store.finishJob(fence);
      else await store.releaseLeases([{ ...fence, lost: false, heldBy: settings.gatewayId }]);
    } catch (error) {
      // The lease expires, and a gateway starts again.
      const { runId } = sought;
      log(levelFor(error, "warn"), `Failed to look for an earlier event of run ${runId}: ${messageOf(error)}`, {
        runId,
        stepKey: sought.key,
      });
    } finally {
      runs.release(sought.runId);
      this.#kept.letGo(fence);
    }
  }

  /** False when the gateway stops before it is sure. */
  async #lookUntilSure(sought: Sought): Promise<boolean> {
    const { store, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    let restMs = MIN_REST_MS;
    let hasLooked = false;
    let underWay = await store.writesUnderWay();
    for (;;) {
      const isSure = underWay.length === 0;
      if (isSure || (!hasLooked && clock.monotonicMs() - startedMs >= SHORT_WAIT_MS)) {
        const looked = await this.#look(sought);
        if (looked === "stopped") return false;
        if (looked === "nothing" && isSure) await this.#remember(sought);
        if (looked !== "nothing" || isSure) return true;
        hasLooked = true;
      } else if (hasLooked && (await this.#waitOf(sought)) === null) return true;
      await this.#rest(restMs);
      if (this.#stopped) return false;
      restMs = Math.min(2 * restMs, hasLooked ? MAX_REST_MS : SHORT_WAIT_MS);
      underWay = await store.writesUnderWay(underWay);
    }
  }

  async #remember(sought: Sought): Promise<void> {
    const found = await this.#waitOf(sought);
    if (found) this.#sure.add(placeOf(sought, found.state));
    for (const oldest of this.#sure) {
      if (this.#sure.size <= MOST_SURE) return;
      this.#sure.delete(oldest);
    }
  }

  #rest(restMs: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#resting.delete(end);
        resolve();
      };
      const timer = this.#options.timers.set(restMs, end);
      this.#resting.add(end);
    });
  }

  /** Null when the step waits no more. */
  async #waitOf({ runId, key }: Sought): Promise<{ state: RunState; wait: EarlierWait } | null> {
    // The gateway that stored the wait may have been another one.
    const state = await this.#parts.runs.loadWith(runId, ({ open }) => open.has(key));
    const wait = state?.open.get(key)?.earlier;
    return state && wait && !isEnded(state.status) && state.waits.includes(key) ? { state, wait } : null;
  }

  async #look(sought: Sought): Promise<Looked | "stopped"> {
    const found = await this.#waitOf(sought);
    if (found === null) return "over";
    const { store } = this.#options;
    const { expressions } = this.#parts;
    const { state, wait } = found;
    const { runId, functionId, createdMs } = state;
    const own = await seenTextInTurns(state.eventText);
    const scan = {
      name: qualify(environmentOf(functionId), wait.name),
      // Times are rounded to milliseconds.
      sinceMs: createdMs - 1,
      notOfRun: runId,
      text: wait.expression === null ? null : expressions.textOf(wait.expression, () => own),
      pageSize: PAGE_SIZE,
    };
    const consumed = consumedEvents(state, wait);
    const isMeant = (payload: string): Promise<boolean> => this.#isMeant(wait, consumed, own, payload);
    let after = firstIdAt(Math.min(createdMs, ulidTimeMs(runId)) - ID_SKEW_MS);
    for (;;) {
      if (this.#stopped) return "stopped";
      const page = { ...scan, after };
      // Page by page, so that a long look does not keep others waiting.
      const { ids, last } = await this.#scans.run(() => store.scanEvents(page));
      for (let at = 0; at < ids.length; at += PAYLOADS_AT_ONCE) {
        const payloads = await store.loadEvents(ids.slice(at, at + PAYLOADS_AT_ONCE));
        for (const payload of payloads) {
          if (!(await isMeant(payload))) continue;
          const result = { type: "data", text: payload } as const;
          const outcome = await this.#parts.updater.endStep(runId, { type: "arrived", key: sought.key, result }, null);
          return outcome === "won" ? "given" : "over";
        }
      }
      if (last === null) return "nothing";
      after = last;
    }
  }

  async #isMeant(
    { expression }: EarlierWait,
    consumed: ReadonlySet<string>,
    own: unknown,
    payloadJson: string,
  ): Promise<boolean> {
    const { expressions, time } = this.#parts;
    const payload = await seenTextInTurns(payloadJson);
    const id = (payload as { readonly id?: unknown } | null)?.id;
    if (typeof id === "string" && consumed.has(id)) return false;
    if (expression === null) return true;
    if (expressions.mustYield) await expressions.yieldTurn();
    return expressions.holds(expression, { event: own, async: payload, nowMs: time.nowMs() });
  }
}

/** A run that is resumed waits anew under the same key: events that came while it had ended count. */
const placeOf = ({ runId, key }: Sought, { revivals }: Pick<RunState, "revivals">): string =>
  `${runId} ${key} ${revivals}`;
