/**
 * The faults of one gateway: adds and removes them, makes those that happen at once, and is asked at each edge whether
 * anything happens there.
 */
import {
  type Clock,
  HoldfastError,
  type Log,
  messageOf,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import { plainName } from "@holdfast/store";
import type { SeenFrame } from "./frame-facts.ts";
import {
  type AboutRequest,
  FaultBook,
  type FaultDecision,
  type HistoryEntry,
  type ListedFault,
} from "./rules/fault-book.ts";
import type { StoreOperation } from "./rules/fault-kinds.ts";
import { isAt, type RefusalStatus, type RuleAt } from "./rules/fault-rule.ts";
import { invalid, readRule } from "./rules/read-rule.ts";

/** A request in flight from this gateway. */
export interface RequestInFlight {
  readonly requestId: string;
  readonly functionId: string;
  readonly runId: string;
  readonly connection: AboutRequest["connection"];
}

/** What faults do beyond frames and calls. */
export interface FaultActions {
  requestsInFlight(): readonly RequestInFlight[];
  /** Ends their leases as lost: they are given out again. */
  expire(requestIds: readonly string[]): void;
  connections(): readonly { readonly connection: AboutRequest["connection"]; cut(): void }[];
  /** Undefined without virtual time. */
  readonly skipTime: ((ms: number) => Promise<void>) | undefined;
}

export interface FaultsParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly newSeed: () => number;
}

const NOTHING: Omit<AboutRequest, "connection"> = { functionId: () => null, runId: () => null, steps: () => [] };

export class Faults {
  readonly #parts: FaultsParts;
  readonly #book: FaultBook;
  readonly #timers = new Map<string, TimerHandle>();
  #actions: FaultActions | null = null;

  constructor(parts: FaultsParts) {
    this.#parts = parts;
    this.#book = new FaultBook(parts.clock);
  }

  /** What is made after the store that faults reach. */
  begin(actions: FaultActions): void {
    this.#actions = actions;
  }

  /**
   * What happens at once has happened when this resolves, unless it begins later.
   * @throws HoldfastError `FAULT_INVALID`; `OPTION_INVALID` when time cannot be skipped
   */
  async add(value: unknown): Promise<ListedFault> {
    const rule = readRule(value, this.#parts.newSeed);
    if (rule.what === "skip-time" && !this.#actions?.skipTime) {
      throw invalid("Time can be skipped only on a gateway with virtual time: start it with --virtual-time.");
    }
    const fault = this.#book.add(rule);
    this.#parts.log("info", `A fault was asked for: ${rule.what} (${fault.id}, seed ${rule.seed}).`);
    if (!isAt("now", rule)) return fault;
    if (rule.fromMs > 0) this.#arm(fault.id, rule, rule.fromMs);
    else await this.#happenNow(fault.id, rule);
    return this.#book.get(fault.id) ?? fault;
  }

  remove(id: string): boolean {
    this.#timers.get(id)?.cancel();
    this.#timers.delete(id);
    return this.#book.remove(id);
  }

  clear(): number {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    return this.#book.clear();
  }

  list(): readonly ListedFault[] {
    return this.#book.list();
  }

  get(id: string): ListedFault | undefined {
    return this.#book.list().find((one) => one.id === id);
  }

  history(limit: number): readonly HistoryEntry[] {
    return this.#book.history(limit);
  }

  get mayHitFrames(): boolean {
    return this.#book.has("frame");
  }

  get mayHitStore(): boolean {
    return this.#book.has("store");
  }

  onFrame(frame: SeenFrame): FaultDecision<"frame"> | null {
    if (!this.#book.has("frame")) return null;
    const { kind } = frame.frame;
    const fault = this.#book.decide({
      edge: "frame",
      kind,
      direction: frame.direction,
      connection: frame.connection,
      functionId: () => frame.functionId(),
      runId: () => frame.runId(),
      steps: () => frame.steps(),
      commits: () => frame.commits(),
    });
    if (fault) this.#book.record(fault.id, fault.rule.what, `${frameText(frame)}: ${doneText(fault)}`, frame);
    return fault;
  }

  onStore(operation: StoreOperation): FaultDecision<"store"> | null {
    const fault = this.#book.decide({ edge: "store", operation });
    if (fault) this.#book.record(fault.id, fault.rule.what, `${operation}: ${doneText(fault)}`);
    return fault;
  }

  /** The status with which a call that opens a connection is refused; null = it is not. */
  onStart(): RefusalStatus | null {
    if (!this.#book.has("start")) return null;
    const fault = this.#book.decide({ edge: "start" });
    if (fault === null) return null;
    this.#book.record(fault.id, fault.rule.what, `start call: refused with ${fault.rule.status}`);
    return fault.rule.status;
  }

  onFlush(about: AboutRequest): RefusalStatus | null {
    if (!this.#book.has("flush")) return null;
    const fault = this.#book.decide({ edge: "flush", ...about });
    if (fault === null) return null;
    this.#book.record(fault.id, fault.rule.what, `flush call: refused with ${fault.rule.status}`, about);
    return fault.rule.status;
  }

  #arm(id: string, rule: RuleAt<"now">, delayMs: number): void {
    const happen = (): void => {
      this.#timers.delete(id);
      this.#happenNow(id, rule).catch((error: unknown) => {
        this.#parts.log("warn", `The fault ${id} (${rule.what}) could not happen: ${messageOf(error)}`);
      });
    };
    this.#timers.set(id, this.#parts.timers.set(delayMs, happen, { unref: true }));
  }

  async #happenNow(id: string, rule: RuleAt<"now">): Promise<void> {
    await this.#act(id, rule);
    const left = this.#book.list().find((one) => one.id === id);
    if (rule.everyMs !== null && left && !left.isOver) this.#arm(id, rule, rule.everyMs);
  }

  async #act(id: string, rule: RuleAt<"now">): Promise<void> {
    const actions = this.#actions;
    if (!actions) return;
    switch (rule.what) {
      case "expire-leases":
        return this.#expire(id, actions);
      case "kill-connection":
        for (const one of actions.connections()) {
          const about = { connection: one.connection, ...NOTHING };
          if (!this.#book.decide({ edge: "now", ...about }, id)) continue;
          this.#book.record(id, rule.what, "connection: reset", about);
          one.cut();
        }
        return;
      case "skip-time":
        if (!this.#book.decide({ edge: "now", connection: null, ...NOTHING }, id)) return;
        await actions.skipTime?.(rule.skipMs);
        return this.#book.record(id, rule.what, `time: moved on by ${rule.skipMs} ms`);
      default:
        return unreachable(rule);
    }
  }

  #expire(id: string, actions: FaultActions): void {
    const expired = actions.requestsInFlight().filter((request) => {
      const about: AboutRequest = {
        connection: request.connection,
        functionId: () => plainName(request.functionId),
        runId: () => request.runId,
        steps: () => [],
      };
      const fault = this.#book.decide({ edge: "now", ...about }, id);
      if (fault) this.#book.record(id, "expire-leases", `request ${request.requestId}: lease ended`, about);
      return fault !== null;
    });
    actions.expire(expired.map(({ requestId }) => requestId));
  }
}

/** What a gateway without faults answers. */
export const faultsRefused = (why: string): HoldfastError => new HoldfastError("FAULTS_REFUSED", why);

function frameText(seen: SeenFrame): string {
  const { frame, direction } = seen;
  const kind = frame.kind === "UNKNOWN" ? `kind ${frame.number}` : frame.kind;
  const steps = seen.steps().flatMap(({ name }) => name ?? []);
  return `${kind}${steps.length === 0 ? "" : ` [${steps.join(", ")}]`} ${direction === "to-worker" ? "to the worker" : "to the gateway"}`;
}

/** In words, what became of it. */
export function doneText({ rule, chance }: FaultDecision): string {
  switch (rule.what) {
    case "drop":
      return "lost";
    case "withhold-acks":
      return "withheld";
    case "delay":
      return `delayed by ${Math.round(rule.delayMs + chance * rule.jitterMs)} ms`;
    case "duplicate":
      return `sent ${rule.copies + 1} times`;
    case "reorder":
      return "held back until the next one has passed";
    case "cut":
      return "lost, with the connection";
    case "half-open":
      return "lost, and all that follows it";
    case "close":
      return `lost; closed with ${rule.code} ${rule.reason}`.trimEnd();
    case "kill":
      return rule.moment === "before-commit"
        ? "not committed; the pass was ended"
        : "committed; then the pass was ended";
    case "refuse-start":
    case "refuse-flush":
      return `refused with ${rule.status}`;
    case "slow-database":
      return `delayed by ${Math.round(rule.delayMs + chance * rule.jitterMs)} ms`;
    case "refuse-database":
      return "refused";
    case "lose-answer":
      return "done, and reported as failed";
    case "expire-leases":
      return "lease ended";
    case "kill-connection":
      return "reset";
    case "skip-time":
      return `time moved on by ${rule.skipMs} ms`;
    default:
      return unreachable(rule);
  }
}
