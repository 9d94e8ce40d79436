import { createUlidFactory, HoldfastError, type UlidFactory, ulidFromSeed } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import type { IntakeItem, IntakeRun, NewJob } from "../store/index.ts";
import type { Agents, Slot } from "./agents.ts";
import type { Decider } from "./decider.ts";
import type { Dispatches } from "./dispatches.ts";
import { applyRow } from "./fold.ts";
import type { Functions, KnownFunction } from "./functions.ts";
import type { MadeEvent } from "./internal-events.ts";
import { newRun, type StartingEvent } from "./new-run.ts";
import type { EngineCounters, EngineOptions } from "./ports.ts";
import { emptyRun } from "./run-state.ts";
import type { Runs } from "./runs.ts";

/** An event as it came in by HTTP. */
export interface RawEvent {
  readonly name?: unknown;
  readonly data?: unknown;
  readonly id?: unknown;
  readonly ts?: unknown;
  readonly user?: unknown;
  readonly v?: unknown;
  readonly meta?: unknown;
}

/** Makes the ids of one request's events predictable, so that a repeated request can be recognised. */
export interface IdSeed {
  readonly atMs: number;
  readonly entropy: Uint8Array;
}

/** An event with the runs that it starts, places for some of them reserved. Ends with `begin` or `giveBack`. */
export interface Prepared {
  readonly item: IntakeItem;
  readonly born: readonly { readonly run: IntakeRun; readonly job: NewJob; readonly slot: Slot }[];
}

export interface IntakeHooks {
  readonly mayLease: (functionId: string) => boolean;
  readonly onQueued: (functionId: string) => void;
  /** The lease of jobs that tell those who wait for an event; null when this gateway takes no more of them. */
  readonly tellingLease: () => NewJob["lease"];
  /** Somebody waits for the event, and the job that tells them is leased to this gateway. */
  readonly onAwaited: (eventId: string) => void;
}

export interface IntakeParts {
  readonly runs: Runs;
  readonly agents: Agents;
  readonly functions: Functions;
  readonly dispatches: Dispatches;
  readonly decider: Decider;
  readonly counters: EngineCounters;
}

/** Turns events into runs. */
export class Intake {
  readonly #options: EngineOptions;
  readonly #parts: IntakeParts;
  readonly #hooks: IntakeHooks;
  readonly #newId: UlidFactory;

  constructor(options: EngineOptions, parts: IntakeParts, hooks: IntakeHooks) {
    this.#options = options;
    this.#parts = parts;
    this.#hooks = hooks;
    this.#newId = createUlidFactory(options.clock, options.random);
  }

  /**
   * Stores the events and the runs they trigger; the ids are those of the stored events, in order.
   * @throws HoldfastError `EVENT_INVALID` (nothing is stored then), `STORE_FAILED`
   */
  async send(events: readonly RawEvent[], seed?: IdSeed): Promise<string[]> {
    const checked = events.map((event, index) => checkEvent(event, index));
    this.#parts.counters.eventsReceived += events.length;
    const named = checked.map((event, index) => ({
      event,
      id: seed ? ulidFromSeed(seed.atMs, seed.entropy, index + 1) : this.#newId(),
    }));
    try {
      return await this.#store(named);
    } catch (error) {
      if (!seed) throw error;
      return this.#storeMissing(named, error);
    }
  }

  /** With ids that the sender chose, the same request may have come before: what is there already is not made again. */
  async #storeMissing(named: readonly NamedEvent[], error: unknown): Promise<string[]> {
    const found = await Promise.all(named.map(({ id }) => this.#options.store.getEvent(id)));
    const missing = named.filter((_, index) => !found[index]);
    if (missing.length === named.length) throw error;
    this.#parts.counters.eventsDuplicate += named.length - missing.length;
    const ids = missing.length === 0 ? [] : await this.#store(missing);
    return named.map(({ id }, index) => (found[index] ? id : (ids[missing.findIndex((one) => one.id === id)] ?? id)));
  }

  async #store(named: readonly NamedEvent[]): Promise<string[]> {
    const prepared = named.map((one) => this.#prepare(one));
    const { counters } = this.#parts;
    let stored = 0;
    try {
      const outcomes = await this.#options.store.intake(prepared.map(({ item }) => item));
      for (const [index, outcome] of outcomes.entries()) {
        const one = prepared[index];
        if (!one) continue;
        stored = index + 1;
        if (outcome.duplicate) this.giveBack(one);
        else this.begin(one, outcome);
        if (outcome.duplicate) counters.eventsDuplicate += 1;
      }
      return outcomes.map(({ eventId }) => eventId);
    } finally {
      for (const one of prepared.slice(stored)) this.giveBack(one);
    }
  }

  #prepare({ event, id }: NamedEvent): Prepared {
    const tsMs = event.ts ?? this.#parts.decider.context().nowMs;
    const payloadJson = JSON.stringify({
      id: event.id ?? id,
      name: event.name,
      data: event.data,
      ts: tsMs,
      user: event.user,
      ...(event.v === undefined ? {} : { v: event.v }),
      ...(event.meta === undefined ? {} : { meta: event.meta }),
    });
    const started = this.#startRuns(this.#parts.functions.triggeredBy(event.name), {
      id,
      name: event.name,
      payloadJson,
    });
    const idempotencyKey = event.id ?? null;
    const item = { event: { id, name: event.name, idempotencyKey, tsMs, payloadJson }, runs: started.runs };
    return { item: { ...item, lease: this.#hooks.tellingLease() }, born: started.born };
  }

  /** An event that the engine makes. */
  prepareMade(made: MadeEvent): Prepared {
    const { id, name, tsMs, payloadJson, invokes } = made;
    const { functions } = this.#parts;
    const invoked = invokes && functions.get(invokes.functionId);
    const { nowMs } = this.#parts.decider.context();
    const targets = invokes ? (invoked ? [invoked] : []) : functions.toldOf(name, payloadJson, nowMs);
    const { runs, born } = this.#startRuns(targets, made, invokes);
    const event = { id, name, tsMs, payloadJson };
    const item = { event, runs, lease: this.#hooks.tellingLease(), ifAwaited: made.ifWanted && runs.length === 0 };
    return { item, born };
  }

  #startRuns(
    functions: readonly KnownFunction[],
    event: StartingEvent,
    invokes: MadeEvent["invokes"] = null,
  ): { runs: IntakeRun[]; born: Prepared["born"] } {
    const born: { run: IntakeRun; job: NewJob; slot: Slot }[] = [];
    const { agents, decider } = this.#parts;
    const { clock } = this.#options;
    const runs = functions.map((fn) => {
      const slot = this.#hooks.mayLease(fn.id) ? agents.reserve(fn.id, clock.monotonicMs()) : undefined;
      const lease = slot ? decider.leaseOf(slot) : null;
      const { nowMs } = decider.context();
      const run = newRun({ fn, event, invokes, lease, appVersion: null, nowMs, newId: this.#newId });
      const job = run.jobs[0];
      if (slot && job) born.push({ run, job, slot });
      return run;
    });
    return { runs, born };
  }

  /** It is stored: what was born leased goes to its agents. */
  begin(one: Prepared, { atMs, awaited }: { readonly atMs: number; readonly awaited: boolean }): void {
    const { runs, dispatches, counters } = this.#parts;
    counters.runsCreated += one.item.runs.length;
    for (const { run, job, slot } of one.born) {
      counters.bornLeased += 1;
      const { id: runId, functionId, appId, appVersion } = run.run;
      const state = emptyRun({ runId, functionId, appId, appVersion, version: 1 });
      for (const row of run.log) applyRow(state, row, atMs);
      runs.retain(runId);
      runs.offer(state);
      dispatches.start(job, 1, slot, state);
      runs.release(runId);
    }
    if (awaited && one.item.lease) this.#hooks.onAwaited(one.item.event.id);
    if (one.item.runs.length === one.born.length) return;
    for (const { run, jobs } of one.item.runs) if (!jobs[0]?.lease) this.#hooks.onQueued(run.functionId);
  }

  /** It was not stored. */
  giveBack(one: Prepared): void {
    for (const { slot } of one.born) this.#parts.agents.release(slot);
  }
}

interface NamedEvent {
  readonly event: CheckedEvent;
  readonly id: string;
}

interface CheckedEvent {
  readonly name: string;
  readonly data: unknown;
  readonly id?: string;
  readonly ts?: number;
  readonly user: unknown;
  readonly v?: string;
  readonly meta?: unknown;
}

const RESERVED = ["inngest/", "holdfast/"];

function checkEvent(event: unknown, index: number): CheckedEvent {
  const refuse = (why: string): never => {
    throw new HoldfastError("EVENT_INVALID", `Event ${index}: ${why}`);
  };
  if (!isRecord(event)) return refuse("it is not an object.");
  const { name, data, id, ts, user, v, meta } = event;
  if (typeof name !== "string" || name.trim() === "") return refuse("`name` must be a non-empty text.");
  if (name.length > WIRE_LIMITS.maxEventNameLength) {
    return refuse(`\`name\` is longer than ${WIRE_LIMITS.maxEventNameLength} characters.`);
  }
  if (RESERVED.some((prefix) => name.startsWith(prefix)))
    return refuse(`names starting with "${name.split("/")[0]}/" are reserved.`);
  if (data !== undefined && data !== null && !isRecord(data)) return refuse("`data` must be an object.");
  if (id !== undefined && id !== null && (typeof id !== "string" || id.length > 256))
    return refuse("`id` must be a text of at most 256 characters.");
  if (ts !== undefined && ts !== null && !(Number.isFinite(ts) && (ts as number) >= 0))
    return refuse("`ts` must be milliseconds since 1970.");
  return {
    name,
    data: isRecord(data) ? withoutInternal(data) : {},
    ...(typeof id === "string" && id !== "" ? { id } : {}),
    ...(typeof ts === "number" && ts > 0 ? { ts: Math.round(ts) } : {}),
    user: isRecord(user) ? user : {},
    ...(typeof v === "string" ? { v } : {}),
    ...(meta === undefined ? {} : { meta }),
  };
}

function withoutInternal(data: Record<string, unknown>): Record<string, unknown> {
  if (!("_inngest" in data)) return data;
  const { _inngest: _, ...rest } = data;
  return rest;
}
