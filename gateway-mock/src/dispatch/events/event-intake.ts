/**
 * Owns the way of events into the store: checks, ids, the runs they start, and the retry when the registry has changed
 * meanwhile (docs/decisions/0039). Events that runs cause come the same way, with the commit that causes them.
 */
import { createUlidFactory, HoldfastError, nextTurn, type UlidFactory, ulidFromSeed } from "@holdfast/core";
import {
  applyRow,
  CHARS_A_TURN,
  type EventReader,
  emptyRun,
  type InternalEvent,
  seenEvent,
  seenText,
  seenTextInTurns,
} from "@holdfast/engine";
import {
  DEFAULT_ENVIRONMENT,
  type GraphRunMark,
  type IntakeItem,
  type IntakeOutcome,
  type IntakeSource,
  type NewEvent,
  type NewJob,
  qualify,
} from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import type { AfterCommit, Emit } from "../dispatcher-effects.ts";
import type { Snapshots } from "../graphs/snapshots.ts";
import type { Notices, StoredEvent } from "../notices.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import { type SenderTrace, type Spans, senderSpanId } from "../spans.ts";
import type { Workers } from "../workers/workers.ts";
import { checkEvents, type RawEvent } from "./event-checks.ts";
import { graphStarts, startGraphs, together } from "./graph-starts.ts";
import { entropyIn, type IdSeed } from "./id-seed.ts";
import { inParts } from "./in-parts.ts";
import { LazyEvent } from "./lazy-event.ts";
import { NamedRequests } from "./named-requests.ts";
import { withSingletonKey } from "./singleton-of-chain.ts";
import type { Started, Starter } from "./starter.ts";
import { type NamedEvent, payloadOf, type StartingEvent, startingEvent } from "./starting-event.ts";

/**
 * Of one request, as many as one transaction takes: what they start is under way while the next ones are stored, and
 * what waits for the database is prepared shortly before.
 */
const EVENTS_A_PART = 128;

/**
 * What so few events start leaves before their sender is answered, if no others are being stored: writing the answer
 * takes as long as making the request. Under load the answers go first: new events come with the replies to what these
 * have started, in one transaction (docs/decisions/0164).
 */
const FEW_EVENTS = 8;

/** How often the functions may change while one event is taken in. */
const REGISTRY_TRIES = 16;

export interface SendOptions {
  readonly environment?: string;
  readonly seed?: IdSeed;
  /** Of the request: for events that bring none of their own. */
  readonly trace?: SenderTrace;
  /** Runs waited for an event of this name, or for one to cancel them, when it was stored. */
  readonly onAwaited?: (eventId: string) => void;
}

/** An event with the runs that it starts, places for some of them reserved. Ends with `begin` or `giveBack`. */
export interface Prepared {
  readonly item: IntakeItem;
  readonly leased: Started["leased"];
  /** Of an event from outside: the span it was sent in, null = none. */
  readonly sender?: string | null;
}

export interface EventIntakeParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly functions: Functions;
  readonly time: DatabaseTime;
  readonly starter: Starter;
  readonly counters: DispatcherCounters;
  readonly notices: Notices;
  readonly snapshots: Snapshots;
  readonly spans: Spans;
  /** The lease of jobs that notify runs that wait for an event; null when this gateway takes no more of them. */
  readonly notifyLease: () => NewJob["lease"];
}

/** Turns events into runs. */
export class EventIntake {
  readonly #options: DispatcherOptions;
  readonly #parts: EventIntakeParts;
  readonly #emit: Emit<AfterCommit>;
  readonly #newId: UlidFactory;
  readonly #requests: NamedRequests<NamedEvent>;
  /** Events from outside that are being stored. */
  #storing = 0;

  constructor(options: DispatcherOptions, parts: EventIntakeParts, emit: Emit<AfterCommit>) {
    this.#options = options;
    this.#parts = parts;
    this.#emit = emit;
    this.#newId = createUlidFactory(options.clock, options.random);
    this.#requests = new NamedRequests({
      store: options.store,
      write: (events) => this.#store(events),
      onKnown: (count) => {
        parts.counters.eventsDuplicate += count;
      },
    });
  }

  /**
   * Stores the events and the runs they trigger; the ids are those of the stored events, in order.
   * @throws HoldfastError `EVENT_INVALID` (nothing is stored then), `STORE_FAILED`
   */
  async send(events: readonly RawEvent[], how: SendOptions): Promise<string[]> {
    const { environment = DEFAULT_ENVIRONMENT, seed, trace = {}, onAwaited } = how;
    const nowMs = this.#parts.time.nowMs();
    const checked = await checkEvents(events, nowMs);
    this.#parts.counters.eventsReceived += events.length;
    const entropy = seed && entropyIn(environment, seed);
    const named = checked.map((event, index) => ({
      event,
      trace: event.trace.traceparent === undefined ? trace : event.trace,
      environment,
      id: seed && entropy ? ulidFromSeed(seed.atMs, entropy, index + 1) : this.#newId(),
      mayRepeat: seed !== undefined,
      onAwaited,
    }));
    return seed && named.length > 0 ? this.#requests.store(named) : this.#store(named);
  }

  /** What was decided on functions that have changed meanwhile is decided again. */
  async #store(named: readonly NamedEvent[]): Promise<string[]> {
    const { functions, time } = this.#parts;
    const { store } = this.#options;
    // An event's time may lie ahead, or have passed while this machine was suspended.
    if (time.isDoubtful) await time.ask(store);
    const ids = new Map<string, string>();
    let left = named;
    for (let tries = 0; tries < REGISTRY_TRIES; tries += 1) {
      const { version } = functions;
      const outcomes = await inParts(left, EVENTS_A_PART, (some) => this.#storeSome(some));
      for (const [index, { id, onAwaited }] of left.entries()) {
        const outcome = outcomes[index];
        if (!outcome || outcome.outdated) continue;
        ids.set(id, outcome.eventId);
        if (outcome.awaited) onAwaited?.(outcome.eventId);
      }
      left = left.filter(({ id }) => !ids.has(id));
      if (left.length === 0) return named.map(({ id }) => ids.get(id) ?? id);
      await functions.renew(version);
    }
    const which = ids.size === 0 ? "Nothing was stored" : `${left.length} of ${named.length} events were not stored`;
    throw new HoldfastError(
      "STORE_FAILED",
      `The registered functions kept changing during the write. ${which}; retry.`,
    );
  }

  async #storeSome(named: readonly NamedEvent[]): Promise<readonly IntakeOutcome[]> {
    const prepared: Prepared[] = [];
    const { counters } = this.#parts;
    let stored = 0;
    let chars = 0;
    this.#storing += named.length;
    try {
      for (const one of named) {
        const making = this.#prepare(one);
        const made = making instanceof Promise ? await making : making;
        prepared.push(made);
        chars += made.item.event.payloadJson.length;
        if (chars < CHARS_A_TURN) continue;
        chars = 0;
        await nextTurn();
      }
      const outcomes = await this.#options.store.intake(prepared.map(({ item }) => item));
      for (const [index, outcome] of outcomes.entries()) {
        const one = prepared[index];
        if (!one) continue;
        stored = index + 1;
        if (outcome.duplicate || outcome.outdated) this.releasePrepared(one);
        else this.startPrepared(one, outcome);
        if (outcome.duplicate) counters.eventsDuplicate += 1;
        if (outcome.outdated) counters.registryMoved += 1;
      }
      if (named.length <= FEW_EVENTS && this.#storing === named.length) sendNow(prepared);
      return outcomes;
    } finally {
      this.#storing -= named.length;
      for (const one of prepared.slice(stored)) this.releasePrepared(one);
    }
  }

  /** At once where no condition says what the event starts, and no graph is started by events. */
  #prepare(named: NamedEvent): Prepared | Promise<Prepared> {
    const { event, environment } = named;
    const { functions, starter, spans, time } = this.#parts;
    const span = spans.ofEvent(named.id, named.trace);
    // The version of before the turns that others may have: what they register is noticed when the event is stored.
    const starting = startingEvent(named, { nowMs: time.nowMs(), registryVersion: functions.version, span });
    const reader = starter.reader(() => seenEvent(payloadOf(named, starting)));
    const certain = functions.triggeredForCertain(environment, event.name);
    if (!certain || functions.graphs.mayStart(environment)) return this.#prepareInTurns(named, starting, reader);
    return this.#prepared(named, starting, starter.start(certain, starting, reader, { startMs: starting.startMs }));
  }

  async #prepareInTurns(named: NamedEvent, starting: StartingEvent, reader: EventReader): Promise<Prepared> {
    const { event, environment } = named;
    const { functions, starter } = this.#parts;
    const triggered = await functions.triggeredInTurns(environment, event.name, reader);
    const ofGraphs = await graphStarts(this.#parts, environment, { data: event.data, ...starting }, reader);
    const { startMs } = starting;
    const started = starter.start(triggered, starting, reader, { startMs });
    return this.#prepared(named, starting, together(started, startGraphs(starter, ofGraphs, startMs)));
  }

  #prepared({ event, environment, trace, mayRepeat }: NamedEvent, starting: StartingEvent, started: Started): Prepared {
    const { id, name, payloadJson, tsMs, registryVersion } = starting;
    const { runs, windows, leased } = started;
    return {
      item: {
        event: { id, name: qualify(environment, name), payloadJson, idempotencyKey: event.id ?? null, tsMs },
        runs,
        windows,
        lease: this.#parts.notifyLease(),
        registryVersion,
        mayRepeat,
      },
      leased,
      sender: senderSpanId(trace),
    };
  }

  /** An event that the engine makes. */
  prepareInternal(made: InternalEvent): Prepared {
    const { id, name, environment, tsMs, invokes } = made;
    const { functions, starter } = this.#parts;
    const lease = this.#parts.notifyLease();
    if (made.ifWanted && !functions.mayTrigger(environment, name)) {
      return { item: { event: new LazyEvent(made), runs: NOTHING, lease, ifAwaited: true }, leased: NOTHING };
    }
    const event = { id, name, tsMs, payloadJson: made.payload() };
    const reader = starter.reader(() => seenText(event.payloadJson));
    const invoked = invokes && functions.get(invokes.functionId);
    const targets = invokes ? (invoked ? [invoked] : []) : functions.triggeredBy(environment, name, reader);
    const link = invoked ? withSingletonKey(invokes, invoked, starter) : invokes;
    const { runs, windows, leased } = starter.start(targets, event, reader, { invokes: link });
    const ifAwaited = made.ifWanted && runs.length + windows.length === 0;
    return { item: { event: { ...event, name: qualify(environment, name) }, runs, windows, lease, ifAwaited }, leased };
  }

  /**
   * Makes one run of collected events, or of a schedule's tick, and ends the job it comes from. `lost`: another gateway
   * has the job, or the collected events have changed. `outdated`: the function has changed in the meantime, and is
   * known here.
   * @throws HoldfastError `STORE_FAILED`
   */
  async startFromJob(fn: KnownFunction, from: JobEvent): Promise<"made" | "lost" | "outdated"> {
    const { starter, functions, counters } = this.#parts;
    const { event, source, stored, more = [], graph } = from;
    const registryVersion = from.registryVersion ?? functions.version;
    const seen = await seenTextInTurns(event.payloadJson);
    const reader = starter.reader(() => seen);
    const stage = graph ? "invoked" : stored ? "window" : "event";
    const { runs, windows, leased } = starter.start([fn], event, reader, { stage, more, ...graph });
    const lease = this.#parts.notifyLease();
    const base = {
      event: { ...event, name: qualify(fn.environment, event.name) },
      runs,
      windows,
      source,
      lease,
      registryVersion,
    };
    const prepared: Prepared = { item: stored ? { ...base, storedEvents: stored } : base, leased };
    try {
      const [outcome] = await this.#options.store.intake([prepared.item]);
      if (outcome && !outcome.lost && !outcome.outdated) {
        this.startPrepared(prepared, outcome);
        return "made";
      }
      this.releasePrepared(prepared);
      if (!outcome?.outdated) return "lost";
      counters.registryMoved += 1;
    } catch (error) {
      this.releasePrepared(prepared);
      throw error;
    }
    await functions.renew(registryVersion);
    return "outdated";
  }

  /** It is stored: what was leased on creation goes to its workers, and the queue and waiting runs are notified. */
  startPrepared(one: Prepared, outcome: StoredOutcome): void {
    const { runs, counters, notices, spans } = this.#parts;
    const { atMs, seq, awaited, skipped = [], skippedWindows = 0 } = outcome;
    notices.started(one.item, outcome);
    if (one.sender !== undefined) spans.eventStored(one.item, one.sender, one.item.runs.length - skipped.length, atMs);
    counters.runsCreated += one.item.runs.length - skipped.length;
    if (skipped.length + skippedWindows > 0) this.#logSkipped(one, skipped, skippedWindows);
    for (const leased of one.leased) {
      counters.leasedOnCreation += 1;
      const { run } = leased;
      const { id: runId, functionId, appId, appVersion } = run.run;
      const state = emptyRun({ runId, functionId, appId, appVersion, version: 1 });
      for (const row of run.log) applyRow(state, row, atMs);
      state.seq = seq ?? 0;
      runs.retain(runId);
      runs.keepNew(state);
      this.#emit({ do: "DISPATCH", run: state, jobs: [leased] });
      runs.release(runId);
    }
    if (awaited && one.item.lease) this.#emit({ do: "NOTIFY_WAITERS", event: one.item.event });
    if (one.item.runs.length === one.leased.length) return;
    for (const { run, jobs } of one.item.runs) {
      const [job] = jobs;
      if (job?.lease || job?.notBeforeMs || skipped.includes(run.id)) continue;
      this.#emit({ do: "WAKE_QUEUE", functionId: run.functionId, dueInMs: 0 });
    }
  }

  #logSkipped({ item }: Prepared, skipped: readonly string[], windows: number): void {
    this.#parts.counters.runsSkipped += skipped.length + windows;
    const functions = item.runs.filter(({ run }) => skipped.includes(run.id)).map(({ run }) => run.functionId);
    this.#options.log("debug", `Event ${item.event.id} (${item.event.name}) starts no run where another is pending.`, {
      eventId: item.event.id,
      functions: functions.join(", "),
    });
  }

  /** It was not stored. */
  releasePrepared(one: Prepared): void {
    for (const { worker, job } of one.leased) this.#parts.workers.release(worker, job.functionId);
  }
}

function sendNow(prepared: readonly Prepared[]): void {
  for (const { leased } of prepared) for (const { worker } of leased) worker.session.flush();
}

const NOTHING: readonly never[] = [];

/** What a job of no run makes a run of. */
export interface JobEvent {
  readonly event: NewEvent;
  readonly source: IntakeSource;
  /** Ids of the events, when they are stored already. */
  readonly stored?: readonly string[];
  /** Payloads of the other events of a batch. */
  readonly more?: readonly string[];
  /** The graph that the run is of, and whether its nodes are jobs of their own. */
  readonly graph?: { readonly graph: GraphRunMark; readonly spreads: boolean };
  /** Of the registry that it was chosen from; default: as it is known here. */
  readonly registryVersion?: number;
}

interface StoredOutcome extends StoredEvent {
  readonly atMs: number;
  readonly seq: number | null;
}
