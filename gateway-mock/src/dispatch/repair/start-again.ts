/** Makes a run of events that have been in a run before, under the flow control of a rerun. */
import { seenTextInTurns } from "@holdfast/engine";
import { type GraphRunMark, type NewEvent, qualify, type Store } from "@holdfast/store";

import type { EventIntake, Prepared } from "../events/event-intake.ts";
import type { RunOrigin } from "../events/new-run.ts";
import type { Starter } from "../events/starter.ts";
import type { DispatcherCounters } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";

export interface StartAgainParts {
  readonly intake: EventIntake;
  readonly starter: Starter;
  readonly functions: Functions;
  readonly counters: DispatcherCounters;
}

/** What a run is made of once more. */
export interface AgainEvent {
  readonly event: NewEvent;
  /** Payloads of the other events of a batch, as one text. */
  readonly more: readonly string[];
  readonly origin: RunOrigin;
  readonly appVersion?: string;
  /** The graph that it runs, as the run before did. */
  readonly graph?: GraphRunMark;
  /** Its steps are jobs of their own. */
  readonly spreads?: boolean;
}

/**
 * No worker is reserved for it: it waits its turn in the queue. `outdated`: the function has changed in the meantime, and
 * is known here.
 * @throws HoldfastError `STORE_FAILED`, also when there is a run of that id
 */
export async function startAgain(
  store: Store,
  { intake, starter, functions, counters }: StartAgainParts,
  fn: KnownFunction,
  { event, more, origin, appVersion, ...ofGraph }: AgainEvent,
): Promise<"made" | "skipped" | "outdated"> {
  const { version: registryVersion } = functions;
  const seen = await seenTextInTurns(event.payloadJson);
  const reader = starter.reader(() => seen);
  const version = appVersion === undefined ? {} : { appVersion };
  const { runs } = starter.start([fn], event, reader, { stage: "rerun", more, origin, ...version, ...ofGraph });
  const stored = { ...event, name: qualify(fn.environment, event.name) };
  const item = { event: stored, runs, storedEvents: [event.id], registryVersion };
  const prepared: Prepared = { item, leased: [] };
  const [outcome] = await store.intake([item]);
  if (outcome && !outcome.outdated) {
    intake.startPrepared(prepared, outcome);
    return outcome.skipped.length > 0 ? "skipped" : "made";
  }
  counters.registryMoved += 1;
  await functions.renew(registryVersion);
  return "outdated";
}
