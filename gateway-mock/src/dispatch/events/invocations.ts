/**
 * Runs that are asked for by name, from outside of any run: an event and a run of one function, in one transaction, as
 * `step.invoke` makes them, but through the function's flow rules. A repeated request makes no second run.
 */
import {
  createUlidFactory,
  HoldfastError,
  MAX_DURATION_MS,
  type UlidFactory,
  ulidFromSeed,
  unstorableIn,
} from "@holdfast/core";
import { INVOKED, invocationText, jsonText, seenText, withSpan } from "@holdfast/engine";
import { WIRE_LIMITS } from "@holdfast/protocol";
import {
  type GraphRunMark,
  type IntakeOutcome,
  type NewJob,
  plainName,
  qualify,
  type SkippedBy,
} from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import { eventNameOf, type GraphRequest, graphRequestText, spreadsNodes } from "../graphs/graph-request.ts";
import type { DispatcherOptions } from "../ports.ts";
import { findFunction } from "../registry/find-function.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import { type Spans, senderSpanId } from "../spans.ts";
import { isDataObject, nestsDeeperThan, withoutInternal } from "./event-checks.ts";
import type { EventIntake, Prepared } from "./event-intake.ts";
import { entropyIn, type IdSeed } from "./id-seed.ts";
import type { AskedOptions, Starter } from "./starter.ts";

/** How often the functions may change while one run is made. */
const REGISTRY_TRIES = 16;
/** How long the id that a caller gave stands for its run. */
export const INVOCATION_ID_MS = 30 * 86_400_000;
const MAX_ID_LENGTH = 256;
const MAX_PRIORITY = 600;

/** What a caller asks for; checked here. */
export interface Invocation {
  readonly environment: string;
  /** Its name, its id, or the id that its author gave. */
  readonly function: string;
  readonly data?: unknown;
  readonly user?: unknown;
  readonly v?: unknown;
  readonly meta?: unknown;
  /** The span that it was asked for in. */
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
  /** The same id again is the same run. */
  readonly id?: unknown;
  /** Not before this instant. */
  readonly atMs?: number;
  /** The run fails when it is not over by then: a point in time, or a duration since it may begin. One of the two. */
  readonly deadlineMs?: number;
  readonly deadlineInMs?: number;
  readonly appVersion?: unknown;
  readonly priority?: unknown;
  /** Names the request, so that it may be repeated. */
  readonly seed?: IdSeed;
  /** What is run is a graph: the event has it, and the run is marked with it. */
  readonly graph?: GraphInvocation;
}

export interface GraphInvocation {
  readonly request: Omit<GraphRequest, "inputJson">;
  readonly input: unknown;
  readonly mark: GraphRunMark;
  /** Within which `id` names the run. */
  readonly keyScope: string;
}

/** Runs of graphs are wanted for certain: flow rules do not count, limits do. */
const graphStart = ({ mark: graph, request }: GraphInvocation) =>
  ({ stage: "invoked", graph, spreads: spreadsNodes(request.snapshotJson) }) as const;

export type StopReason = "rateLimit" | "idempotency" | "singleton";

export type InvocationOutcome =
  /** `isNew`: false when an earlier request has made it. */
  | {
      readonly outcome: "started";
      readonly functionId: string;
      readonly runId: string;
      readonly eventId: string;
      readonly isNew: boolean;
    }
  /** `runId`: of a singleton, the run that has its place. */
  | {
      readonly outcome: "skipped";
      readonly functionId: string;
      readonly reason: StopReason;
      readonly runId: string | null;
    }
  /** A run will be made of this event and perhaps others. */
  | {
      readonly outcome: "postponed";
      readonly functionId: string;
      readonly reason: "debounce" | "batchEvents";
      readonly eventId: string;
    };

export interface InvocationsParts {
  readonly functions: Functions;
  readonly time: DatabaseTime;
  readonly starter: Starter;
  readonly intake: EventIntake;
  readonly spans: Spans;
  /** Of the job that notifies runs that wait for the event. */
  readonly notifyLease: () => NewJob["lease"];
}

export class Invocations {
  readonly #options: DispatcherOptions;
  readonly #parts: InvocationsParts;
  readonly #newId: UlidFactory;

  constructor(options: DispatcherOptions, parts: InvocationsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#newId = createUlidFactory(options.clock, options.random);
  }

  /** @throws HoldfastError `NOT_FOUND`, `OPTION_INVALID`, `EVENT_INVALID`, `STORE_FAILED` */
  async invoke(invocation: Invocation): Promise<InvocationOutcome> {
    const { functions, time } = this.#parts;
    const { store } = this.#options;
    // A start in the future, and a deadline, are compared with the database's time.
    if (time.isDoubtful) await time.ask(store);
    checkPayload(invocation);
    const { environment, seed } = invocation;
    const eventId = seed ? ulidFromSeed(seed.atMs, entropyIn(environment, seed), 1) : this.#newId();
    for (let tries = 0; tries < REGISTRY_TRIES; tries += 1) {
      const fn = await this.#find(invocation);
      const { version } = functions;
      const prepared = this.#prepare(invocation, fn, eventId, version);
      const outcome = await this.#store(prepared, fn, seed !== undefined);
      if (outcome !== "outdated") return outcome;
      await functions.renew(version);
    }
    throw new HoldfastError(
      "STORE_FAILED",
      "The registered functions kept changing while the run was made. Nothing was stored; retry.",
    );
  }

  async #find({ environment, function: name }: Invocation): Promise<KnownFunction> {
    const fn = await findFunction(this.#parts.functions, environment, name);
    if (fn.active) return fn;
    const id = plainName(fn.id);
    throw new HoldfastError("NOT_FOUND", `The function "${id}" is not part of the newest deployment of its app.`);
  }

  #prepare(invocation: Invocation, fn: KnownFunction, id: string, registryVersion: number): Prepared {
    const { starter, time, notifyLease, spans } = this.#parts;
    const nowMs = time.nowMs();
    const tsMs = Math.round(nowMs);
    const { data, user, v, meta, graph } = invocation;
    const text = graph
      ? graphRequestText(id, tsMs, { ...graph.request, inputJson: jsonText(graph.input) })
      : invocationText({ id, functionId: plainName(fn.id), tsMs, data: withoutInternal(data), user, v, meta });
    const payloadJson = withSpan(text, spans.ofEvent(id, invocation));
    const event = { id, name: graph ? eventNameOf(graph.request) : INVOKED, payloadJson };
    const asked = readOptions(invocation, fn, nowMs, this.#parts.functions.versionsOf(fn.id));
    const startMs = invocation.atMs !== undefined && invocation.atMs > nowMs ? invocation.atMs : null;
    const reader = starter.reader(() => seenText(payloadJson));
    const how = graph ? graphStart(graph) : {};
    const { runs, windows, leased } = starter.start([fn], event, reader, { startMs, asked, ...how });
    const scope = graph?.keyScope ?? plainName(fn.id);
    const key = invocation.id === undefined ? null : `${scope}\n${String(invocation.id)}`;
    return {
      item: {
        event: {
          ...event,
          name: qualify(fn.environment, event.name),
          tsMs,
          ...(key === null ? {} : { idempotencyKey: key, keyKeptMs: INVOCATION_ID_MS }),
        },
        runs,
        windows,
        lease: notifyLease(),
        ifStarts: true,
        mayRepeat: invocation.seed !== undefined,
        registryVersion,
      },
      leased,
      sender: senderSpanId(invocation),
    };
  }

  async #store(prepared: Prepared, fn: KnownFunction, isNamed: boolean): Promise<InvocationOutcome | "outdated"> {
    const { intake } = this.#parts;
    const { id: eventId } = prepared.item.event;
    let outcome: IntakeOutcome | undefined;
    try {
      [outcome] = await this.#options.store.intake([prepared.item]);
    } catch (error) {
      intake.releasePrepared(prepared);
      // The request may be one that is repeated: its event is there then.
      if (isNamed && (await this.#options.store.getEvent(eventId))) return this.#earlier(eventId, fn);
      throw error;
    }
    if (!outcome || outcome.outdated || outcome.duplicate) {
      intake.releasePrepared(prepared);
      return outcome?.duplicate ? this.#earlier(outcome.eventId, fn) : "outdated";
    }
    intake.startPrepared(prepared, outcome);
    const functionId = plainName(fn.id);
    const [skippedBy] = outcome.skippedBy;
    if (skippedBy) return { outcome: "skipped", functionId, reason: reasonOf(skippedBy), runId: skippedBy.runId };
    const [run] = prepared.item.runs;
    if (run) return { outcome: "started", functionId, runId: run.run.id, eventId, isNew: true };
    return { outcome: "postponed", functionId, reason: windowOf(fn), eventId };
  }

  /** What an earlier request with the same id has come to. */
  async #earlier(eventId: string, fn: KnownFunction): Promise<InvocationOutcome> {
    const event = await this.#options.store.getEvent(eventId);
    const functionId = plainName(fn.id);
    if (!event) {
      throw new HoldfastError("NOT_FOUND", `A run of "${functionId}" with this id was there, and has been deleted.`);
    }
    const [runId] = event.runIds;
    if (runId !== undefined) return { outcome: "started", functionId, runId, eventId, isNew: false };
    return { outcome: "postponed", functionId, reason: windowOf(fn), eventId };
  }
}

const windowOf = (fn: KnownFunction): "debounce" | "batchEvents" => (fn.settings.debounce ? "debounce" : "batchEvents");

function reasonOf({ rule }: SkippedBy): StopReason {
  if (rule === "single") return "singleton";
  return rule === "rate" ? "rateLimit" : "idempotency";
}

const invalid = (problem: string): HoldfastError => new HoldfastError("OPTION_INVALID", problem);

function checkPayload({ data, user, v, meta, graph }: Invocation): void {
  const refuse = (why: string): never => {
    throw new HoldfastError("EVENT_INVALID", why);
  };
  if (data !== undefined && data !== null && !isDataObject(data)) refuse("`data` must be an object.");
  if (user !== undefined && user !== null && !isDataObject(user)) refuse("`user` must be an object.");
  if (v !== undefined && typeof v !== "string") refuse("`v` must be a string.");
  if ([data, user, meta, graph?.input].some((part) => nestsDeeperThan(part, WIRE_LIMITS.maxDataDepth))) {
    refuse(`The data nests deeper than ${WIRE_LIMITS.maxDataDepth} levels.`);
  }
}

/** What the run has other than its function says. Absent when there is nothing of the kind. */
function readOptions(
  { id, atMs, deadlineMs, deadlineInMs, appVersion, priority }: Invocation,
  fn: KnownFunction,
  nowMs: number,
  versions: readonly string[],
): AskedOptions {
  const name = plainName(fn.id);
  if (id !== undefined && (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH)) {
    throw invalid(`\`id\` must be text of 1 to ${MAX_ID_LENGTH} characters.`);
  }
  const inId = id === undefined ? null : unstorableIn(id);
  if (inId !== null) throw invalid(`\`id\` contains ${inId}.`);
  if (atMs !== undefined && atMs > nowMs + MAX_DURATION_MS) throw invalid("`at` must be at most a year ahead.");
  const beginMs = Math.max(nowMs, atMs ?? 0);
  const lastsMs = deadlineMs === undefined ? deadlineInMs : Math.ceil(deadlineMs - beginMs);
  if (lastsMs !== undefined && lastsMs <= 0) {
    const given = deadlineMs === undefined ? `${lastsMs} ms` : new Date(deadlineMs).toISOString();
    throw invalid(`\`deadline\` (${given}) has passed before the run can begin.`);
  }
  if (lastsMs !== undefined && lastsMs > MAX_DURATION_MS) {
    throw invalid("`deadline` must be at most a year after the start.");
  }
  if (appVersion !== undefined && !(typeof appVersion === "string" && versions.includes(appVersion))) {
    const shown = typeof appVersion === "string" ? JSON.stringify(appVersion.slice(0, 80)) : typeof appVersion;
    throw invalid(
      `\`appVersion\`: no version ${shown} has "${name}"; known are ${versions.slice(0, 10).join(", ") || "none"}.`,
    );
  }
  if (priority !== undefined && !isPriority(priority)) {
    throw invalid(`\`priority\` must be a whole number of seconds, -${MAX_PRIORITY} to ${MAX_PRIORITY}.`);
  }
  const asked: AskedOptions = {
    ...(lastsMs === undefined ? {} : { deadlineInMs: lastsMs }),
    ...(typeof appVersion === "string" ? { appVersion } : {}),
    ...(isPriority(priority) ? { priority } : {}),
  };
  const isWindowed = fn.settings.debounce !== null || fn.settings.batch !== null;
  if (isWindowed && (Object.keys(asked).length > 0 || atMs !== undefined)) {
    const option = fn.settings.debounce ? "debounce" : "batchEvents";
    throw invalid(
      `"${name}" has \`${option}\`: its runs take no \`at\`, \`deadline\`, \`appVersion\` or \`priority\`.`,
    );
  }
  return asked;
}

const isPriority = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= MAX_PRIORITY;
