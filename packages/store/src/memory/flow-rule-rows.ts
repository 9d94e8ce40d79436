/**
 * The rows of flow rules (rate limits, debounces, batches ...). What they allow is decided in
 * `../rules/flow-rules.ts`, as on Postgres.
 */
import type { OpenWindow, WindowKey } from "../port/events.ts";
import { type FlowRuleKey, type FlowRuleState, flowRuleKeyOf } from "../rules/flow-rules.ts";
import type { TableClock } from "./rows.ts";
import type { Runs } from "./runs.ts";

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

  pace(functionId: string, key: string, byMs: number): void {
    const nowMs = this.#clock.nowMs();
    const flowRule = { functionId, kind: "throttle", key };
    const atMs = Math.max(this.startMs(functionId, key) ?? nowMs, nowMs) + byMs;
    this.write({ ...this.#fresh(flowRule), ...this.rows.get(flowRuleKeyOf(flowRule)), atMs, expiresMs: atMs });
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

  window({ functionId, kind, key, id }: WindowKey & { readonly id: string }): OpenWindow | null {
    const row = this.rows.get(flowRuleKeyOf({ functionId, kind, key }));
    if (!row || row.runId !== id) return null;
    const [, ...eventIds] = row.data.split(" ");
    const dueInMs = Math.max(0, Math.ceil((row.dueMs ?? this.#clock.nowMs()) - this.#clock.nowMs()));
    return { functionId, kind, key, id, count: row.count, eventIds, dueInMs };
  }

  /** Events that a window holds for the run that will be made of them. */
  *eventsInWindows(): Iterable<string> {
    for (const { kind, runId, data } of this.rows.values()) {
      const isWindow = kind === "debounce" || kind === "batch" || kind === "full";
      if (isWindow && runId !== "") yield* data.split(" ").slice(1);
    }
  }

  tidy(): void {
    for (const [name, flowRule] of this.rows) {
      const isHeld = flowRule.kind === "single" && this.#runs.isLive(flowRule.runId);
      if (flowRule.expiresMs < this.#clock.nowMs() && !isHeld) this.rows.delete(name);
    }
  }

  #fresh(key: FlowRuleKey): FlowRuleState {
    const nowMs = this.#clock.nowMs();
    const { functionId, kind } = key;
    const nothing = { count: 0, runId: "", data: "", dueMs: null, live: false, changed: false };
    return { functionId, kind, key: key.key, ...nothing, atMs: nowMs, expiresMs: nowMs };
  }
}
