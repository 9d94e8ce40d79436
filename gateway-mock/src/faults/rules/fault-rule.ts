/** A fault as it was asked for: what happens, where, how often, when, and from which seed chance follows. */
import { edgeOf, type FAULT_KINDS, type FaultEdge, type StoreOperation, type WireKind } from "./fault-kinds.ts";
import type { FaultDirection, FaultKind, FaultMoment, FaultStatus } from "./fault-request.ts";

export type Direction = FaultDirection;
export const DIRECTIONS: readonly Direction[] = ["to-gateway", "to-worker"];

export type Moment = FaultMoment;
export const MOMENTS: readonly Moment[] = ["before-commit", "after-commit"];

/** What a fault is limited to; each that is absent limits nothing. */
export interface FaultPlace {
  readonly kind?: readonly WireKind[];
  readonly direction?: Direction;
  /** Id of the connection, or instance id of the worker. */
  readonly connection?: string;
  readonly function?: string;
  /** The step's id as its author wrote it (`id:1` for a repeat), or its hash. */
  readonly step?: string;
  readonly run?: string;
  readonly operation?: readonly StoreOperation[];
}

interface Timing {
  readonly where: FaultPlace;
  /** Of what fits `where`, how much it happens to: 0 to 1. */
  readonly probability: number;
  /** How often it happens at most; null = no limit. */
  readonly count: number | null;
  /** How many that fit are left alone first. */
  readonly after: number;
  /** From when on, counted from when it was added. */
  readonly fromMs: number;
  /** For how long from then; null = until it is removed. */
  readonly forMs: number | null;
  /** Only of what happens at once: again and again, so far apart. */
  readonly everyMs: number | null;
  readonly seed: number;
}

export type FaultAction =
  | { readonly what: "drop" | "cut" | "withhold-acks" }
  | { readonly what: "delay"; readonly delayMs: number; readonly jitterMs: number }
  | { readonly what: "duplicate"; readonly copies: number }
  | { readonly what: "reorder"; readonly delayMs: number }
  | { readonly what: "half-open"; readonly delayMs: number | null }
  | { readonly what: "close"; readonly code: number; readonly reason: string }
  | { readonly what: "kill"; readonly moment: Moment }
  | { readonly what: "refuse-start"; readonly status: RefusalStatus }
  | { readonly what: "refuse-flush"; readonly status: RefusalStatus }
  | { readonly what: "slow-database"; readonly delayMs: number; readonly jitterMs: number }
  | { readonly what: "refuse-database" | "lose-answer" }
  | { readonly what: "expire-leases" | "kill-connection" }
  | { readonly what: "skip-time"; readonly skipMs: number };

export type RefusalStatus = FaultStatus;
export const REFUSAL_STATUSES: readonly RefusalStatus[] = [400, 401, 403, 404, 409, 413, 500, 503];

export type FaultRule = FaultAction & Timing;

type KindAt<E extends FaultEdge> = {
  [K in FaultKind]: (typeof FAULT_KINDS)[K]["edge"] extends E ? K : never;
}[FaultKind];
type Rules = { readonly [E in FaultEdge]: Extract<FaultRule, { readonly what: KindAt<E> }> };

/** The rules that something can happen by at one edge. */
export type RuleAt<E extends FaultEdge> = Rules[E];

export const isAt = <E extends FaultEdge>(edge: E, rule: FaultRule): rule is RuleAt<E> => edgeOf(rule.what) === edge;
