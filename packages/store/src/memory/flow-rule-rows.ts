/**
 * The rows of flow rules (rate limits, debounces, batches ...). What they allow is decided in
 * `../rules/flow-rules.ts`, as on Postgres.
 */
import type { OpenWindow, WindowKey, WindowKind } from "../port/events.ts";
import { type FlowRuleKey, type FlowRuleState, flowRuleKeyOf } from "../rules/flow-rules.ts";
import { byText, type TableClock } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** When a row that a run holds is looked at again. */
const LOOK_EVERY_MS = 3_600_000;

export interface ThrottleKey {
  readonly functionId: string;
  readonly key: string;
}

/** What events pass on their way to a run. */
export class FlowRuleRows {
  readonly rows = new Map<string, FlowRuleState>();
  readonly #runs: Runs;
  readonly #clock: TableClock;

  constructor(runs: Runs, clock: TableClock) {
    this.#runs = runs;
    this.#clock = clock;
  }

  /** Rows as a batch finds them: those that are missing are made with it. */
  find(keys: readonly FlowRuleKey[]): Map<string, FlowRuleState> {
    return new Map(
      keys.map((key) => {
        const row = this.rows.get(flowRuleKeyOf(key)) ?? this.#fresh(key);
        return [
          flowRuleKeyOf(key),
          { ...row, live: this.#runs.isLive(row.runId), expiresMs: Number.POSITIVE_INFINITY },
        ];
      }),
    );
  }

  make(keys: readonly FlowRuleKey[]): void {
    for (const key of keys) if (!this.rows.has(flowRuleKeyOf(key))) this.write(this.#fresh(key));
  }

  write(state: FlowRuleState): void {
    this.rows.set(flowRuleKeyOf(state), { ...state, changed: false });
  }

  /** When the next start would be due at an even pace. */
  startMs(functionId: string, key: string): number | undefined {
    return this.rows.get(flowRuleKeyOf({ functionId, kind: "throttle", key }))?.atMs;
  }

  pace({ functionId, key }: ThrottleKey, byMs: number, claimId: string): void {
    const nowMs = this.#clock.nowMs();
    const flowRule = { functionId, kind: "throttle", key };
    const atMs = Math.max(this.startMs(functionId, key) ?? nowMs, nowMs) + byMs;
    const row = { ...this.#fresh(flowRule), ...this.rows.get(flowRuleKeyOf(flowRule)) };
    this.write({ ...row, atMs, expiresMs: atMs, data: claimId });
  }

  /** What was paced has not started; only of the last claim, since what has started later was not counted from there. */
  unpace({ functionId, key }: ThrottleKey, byMs: number, claimId: string | null): void {
    const row = this.rows.get(flowRuleKeyOf({ functionId, kind: "throttle", key }));
    if (row && row.data === claimId) this.write({ ...row, atMs: row.atMs - byMs, expiresMs: row.atMs - byMs });
  }

  /** The first instant at which a full throttle of the function lets a run start. */
  nextStartMs(functionId: string, toleranceMs: number): number {
    const full = [...this.rows.values()].filter(
      (flowRule) =>
        flowRule.functionId === functionId &&
        flowRule.kind === "throttle" &&
        flowRule.atMs - toleranceMs > this.#clock.nowMs(),
    );
    return Math.min(...full.map(({ atMs }) => Math.round(atMs - toleranceMs)));
  }

  /** Throttles of the function that are not back at their full pace. */
  pacedOf(ofFunction: string, limit: number): { functionId: string; key: string; atMs: number }[] {
    const nowMs = this.#clock.nowMs();
    return [...this.rows.values()]
      .filter(({ functionId, kind, atMs }) => functionId === ofFunction && kind === "throttle" && atMs > nowMs)
      .sort((a, b) => byText(a.key, b.key))
      .slice(0, limit)
      .map(({ functionId, key, atMs }) => ({ functionId, key, atMs: Math.round(atMs) }));
  }

  window({ functionId, kind, key, id }: WindowKey & { readonly id: string }): OpenWindow | null {
    const row = this.rows.get(flowRuleKeyOf({ functionId, kind, key }));
    return row?.runId === id ? this.#asWindow(row, kind) : null;
  }

  /** By function, kind and key. */
  openWindows(functionIds: readonly string[], limit: number): OpenWindow[] {
    const open = [...this.rows.values()].flatMap((row) => {
      const { functionId, kind, runId } = row;
      const isWindow = kind === "debounce" || kind === "batch" || kind === "full";
      return isWindow && runId !== "" && functionIds.includes(functionId) ? [this.#asWindow(row, kind)] : [];
    });
    const place = ({ functionId, kind, key }: OpenWindow): string => `${functionId}\n${kind}\n${key}`;
    return open.sort((a, b) => byText(place(a), place(b))).slice(0, limit);
  }

  #asWindow({ functionId, key, runId: id, count, data, dueMs }: FlowRuleState, kind: WindowKind): OpenWindow {
    const [, ...eventIds] = data.split(" ");
    const dueInMs = Math.max(0, Math.ceil((dueMs ?? this.#clock.nowMs()) - this.#clock.nowMs()));
    return { functionId, kind, key, id, count, eventIds, dueInMs };
  }

  /** Events that a window holds for the run that will be made of them. */
  *eventsInWindows(): Iterable<string> {
    for (const { kind, runId, data } of this.rows.values()) {
      const isWindow = kind === "debounce" || kind === "batch" || kind === "full";
      if (isWindow && runId !== "") yield* data.split(" ").slice(1);
    }
  }

  tidy(): void {
    const nowMs = this.#clock.nowMs();
    for (const [name, flowRule] of this.rows) {
      if (flowRule.expiresMs >= nowMs) continue;
      const isHeld = flowRule.kind === "single" && this.#runs.isLive(flowRule.runId);
      if (isHeld) this.rows.set(name, { ...flowRule, expiresMs: nowMs + LOOK_EVERY_MS });
      else this.rows.delete(name);
    }
  }

  #fresh(key: FlowRuleKey): FlowRuleState {
    const nowMs = this.#clock.nowMs();
    const { functionId, kind } = key;
    const nothing = { count: 0, runId: "", data: "", dueMs: null, live: false, changed: false };
    return { functionId, kind, key: key.key, ...nothing, atMs: nowMs, expiresMs: nowMs };
  }
}
