/**
 * The types of the machine of a pass: its events, its effects and its state. The rules are in
 * `pass-machine.ts` and, for passes that go on in place, in `in-place-machine.ts`.
 */
import type { CheckpointOutcome } from "@holdfast/protocol";
import type { AppendList } from "./append-list.ts";

export interface FoundStep {
  readonly hash: string;
  /** False for sleeps and the like: they are reported, never run. */
  readonly hasBody: boolean;
  /** A sleep, or a wait for an event or signal: it does nothing but end. */
  readonly isWait?: boolean;
  /** A wait for what a body may bring about: an event, a signal. */
  readonly listens?: boolean;
}

/** A step's result as it goes over the wire: JSON text of one op. No text: the gateway has said it, and has it stored. */
export interface OpText {
  readonly hash: string;
  readonly text: string;
  readonly bytes: number;
  /** Of a long one: what `text` is put together of. To be preferred, since that is done when it is looked at. */
  readonly parts?: readonly string[];
}

export type StepReport =
  | { readonly type: "step"; readonly step: FoundStep }
  | { readonly type: "op"; readonly op: OpText; readonly final: boolean; readonly retryAfter?: string };

export type HandlerEnd =
  /**
   * `awaits`: hashes of steps that belong to the run although they were never awaited. `continues`: it goes on as a new
   * run with this data, JSON text.
   */
  | {
      readonly type: "returned";
      readonly body: string;
      readonly awaits?: ReadonlySet<string>;
      readonly continues?: string;
    }
  | { readonly type: "failed"; readonly body: string; readonly final: boolean; readonly retryAfter?: string }
  /** The last item to be reported is a step's op. */
  | { readonly type: "op"; readonly op: OpText; readonly final: boolean };

/** `position`: how many results the handler is given before the first of those that the reply carries. */
export type PassReply =
  /** `results`: those that no answer has called stored; they go with the end. */
  | {
      readonly type: "end";
      readonly end: Exclude<HandlerEnd, { type: "op" }>;
      readonly results: readonly OpText[];
      readonly position: number;
    }
  /** `isSeen`: the handler has gone on over the results, to what the reports say. */
  | {
      readonly type: "ops";
      readonly finished: readonly OpText[];
      readonly position: number;
      readonly reports: readonly StepReport[];
      readonly isSeen?: true;
    }
  | { readonly type: "missing"; readonly found: readonly FoundStep[] }
  | { readonly type: "stale" };

export type PassMode =
  /** `looksAhead`: the handler goes on over results that are not stored yet. */
  | { readonly type: "in-place"; readonly looksAhead: boolean }
  | { readonly type: "plain"; readonly planOnly: boolean }
  | { readonly type: "targeted"; readonly hash: string };

/** What a checkpoint carries. */
export interface Checkpoint {
  readonly ops: readonly OpText[];
  /** How many results the handler is given before the first of them. */
  readonly position: number;
  readonly parked: readonly StepReport[];
}

/** A step whose body waits until the handler has seen nothing that is not stored. */
export interface HeldStep {
  readonly step: FoundStep;
  /** How many results the handler had been given when it asked for the step. */
  readonly seen: number;
}

export interface OpenPass {
  readonly phase: "open";
  readonly mode: PassMode;
  readonly running: number;
  /** Of the results, those on record first, in the order of finishing: how many the handler was given, and how many are stored. */
  readonly seen: number;
  readonly stored: number;
  readonly held: AppendList<HeldStep>;
  readonly unsent: AppendList<OpText>;
  readonly unanswered: Checkpoint | null;
  readonly reports: AppendList<StepReport>;
  /** Those of `reports` that no checkpoint has contained. */
  readonly untold: AppendList<StepReport>;
  /** How many waits for events and signals no answer has called stored. */
  readonly unstoredWaits: number;
  /** A flush was asked for and has not come yet. */
  readonly flushing: boolean;
  /** The gateway does not take checkpoints of this pass. */
  readonly refused: boolean;
  /** The end that waits for running bodies. */
  readonly ending: HandlerEnd | null;
  /** Rises with everything new; a `quiet` with an older one says nothing. */
  readonly serial: number;
}

export type PassState =
  | OpenPass
  | { readonly phase: "stopping"; readonly running: number }
  | { readonly phase: "ended" };

export type PassEvent =
  /** `due` is false for a failed step whose next attempt is not due yet. */
  | { readonly type: "found"; readonly step: FoundStep; readonly due: boolean }
  /**
   * `maySettle`: the result may be given to the handler before it is stored. It was quick to have, and the handler has
   * asked for all that is on record, so nothing recorded comes before it.
   */
  | { readonly type: "finished"; readonly op: OpText; readonly maySettle: boolean }
  | { readonly type: "failed"; readonly op: OpText; readonly final: boolean; readonly retryAfter?: string }
  /** The gateway has ended a wait. */
  | { readonly type: "ended"; readonly hash: string }
  | { readonly type: "flush" }
  | { readonly type: "answered"; readonly outcome: CheckpointOutcome }
  | { readonly type: "quiet"; readonly serial: number }
  | { readonly type: "missing"; readonly serial: number }
  | { readonly type: "handler-ended"; readonly end: HandlerEnd }
  | { readonly type: "stop" };

export type PassEffect =
  | { readonly do: "start"; readonly step: FoundStep }
  /** Send `flush` once the microtasks that are due now have run. */
  | { readonly do: "flush-soon" }
  | ({ readonly do: "checkpoint" } & Checkpoint)
  | { readonly do: "settle"; readonly ops: readonly OpText[] }
  /** Send `quiet` with this serial when nothing new has come for two turns of the event loop. */
  | { readonly do: "watch"; readonly serial: number }
  /** Send `missing` with this serial after a grace. */
  | { readonly do: "watch-missing"; readonly serial: number }
  /** Abort code that still runs: its result is no longer needed. */
  | { readonly do: "abort" }
  | { readonly do: "reply"; readonly reply: PassReply };
