/** Plays one schedule from its seed: builds the world, lets it run until all is at rest, asks the oracles. */
import { type EventRow, environmentOf, plainName } from "@holdfast/store";

import { type Adversary, type Against, AS_DRAWN } from "./adversaries.ts";
import type { Tables } from "./database/tables.ts";
import type { FaultPlan } from "./faults.ts";
import { slugOf } from "./flow-oracle.ts";
import type { Violation } from "./invariants.ts";
import { checkBulkJobs, checkDeleted, checkForks, isInvokedByStep, isMadeOfAnother } from "./operator-oracle.ts";
import { checkEnds, isYoungTick } from "./run-end-oracle.ts";
import { virtualiseImmediates } from "./scheduler.ts";
import { TraceHash } from "./trace.ts";
import { World } from "./world.ts";

export interface ScheduleResult {
  readonly seed: number;
  readonly violation: Violation | null;
  /** The same for every run of the seed. */
  readonly digest: string;
  readonly virtualMs: number;
  readonly happenings: number;
  readonly effects: number;
  readonly zombies: number;
  readonly redone: number;
  /** Results that handlers were given before they were stored, and steps that they asked for while some were not. */
  readonly lookedAhead: number;
  readonly askedAhead: number;
  readonly runs: number;
  readonly faults: FaultPlan;
  /** Those that were against it. */
  readonly adversaries: readonly Adversary[];
  /** With `trace` only. */
  readonly lines: readonly string[];
}

export interface ScheduleOptions {
  readonly trace?: boolean;
  /** Those that the seed draws, where nothing is said. */
  readonly against?: Against;
}

/** How long runs may take once the faults are over. */
const LIVENESS_MS = 400_000;
/** Longer than it takes main to notice that a thread hangs which was inspecting it. */
const REST_MS = 40_000;
const CLOSE_MS = 30_000;

/** Plays the schedule of a seed from its beginning to its end, or to the first invariant that is broken. */
export async function runSchedule(seed: number, options: ScheduleOptions = {}): Promise<ScheduleResult> {
  const trace = new TraceHash(options.trace === true);
  const world = new World(seed, trace, options.against ?? AS_DRAWN);
  const { scheduler, oracle, faults } = world;
  const undo = virtualiseImmediates(scheduler);
  const onRejection = (reason: unknown): void => {
    const who = scheduler.current;
    if (who?.alive !== false) oracle.fail("S17", `${who?.name}: ${(reason as Error)?.stack ?? String(reason)}`);
  };
  process.on("unhandledRejection", onRejection);
  try {
    await play(world);
  } finally {
    process.off("unhandledRejection", onRejection);
    undo();
  }
  return {
    seed,
    violation: oracle.violation,
    digest: trace.digest,
    virtualMs: scheduler.nowMs,
    happenings: scheduler.happenings,
    effects: oracle.effects,
    zombies: oracle.zombies,
    redone: oracle.redone,
    lookedAhead: oracle.lookedAhead,
    askedAhead: oracle.askedAhead,
    runs: world.tables.runs.size,
    faults,
    adversaries: [...world.adversaries],
    lines: [...(trace.lines ?? []), ...(trace.lines ? logsOf(world) : [])],
  };
}

/** Every function as it is played and every run's log, for people. */
function logsOf({ functions, tables }: World): string[] {
  const plans = functions.map(
    ({ id, retries, root, fails, options }) => `${id}: ${JSON.stringify({ retries, fails, root, options })}`,
  );
  const logs = [...tables.runs.values()].flatMap(({ head, log, jobs }) => [
    `run ${head.id} of ${head.functionId}: ${head.status}, ${jobs.size} jobs`,
    ...log.map(({ atMs, kind, key, attempt, iteration, headVersion, dataJson }) => {
      const where = `${kind} ${key.slice(0, 26)} ${attempt}/${iteration} v${headVersion}`;
      return `  ${String(atMs % 1e7).padStart(8)} ${where} ${dataJson.slice(0, 160)}`;
    }),
  ]);
  return [...plans, ...logs];
}

async function play(world: World): Promise<void> {
  const { scheduler, oracle, faults } = world;
  const broken = (): boolean => oracle.violation !== null;
  await scheduler.run(broken, faults.windowMs);
  if (broken()) return;
  world.calm();
  const allEnded = (): boolean =>
    world.clients.isDone &&
    world.operators?.isDone !== false &&
    world.callers?.isDone !== false &&
    world.flow.isOver() &&
    [...world.tables.runs.values()].every(({ head }) => head.endedMs !== null || isYoungTick(world, head)) &&
    world.watchers?.areUpToDate !== false;
  await scheduler.run(() => broken() || allEnded(), scheduler.nowMs + LIVENESS_MS);
  if (broken()) return;
  checkDeleted(world);
  world.watchers?.check();
  world.tables.restore();
  if (!broken()) checkRuns(world);
  if (broken()) return;
  await scheduler.run(broken, world.wakeMs);
  await scheduler.run(() => broken() || unrest(world) === undefined, scheduler.nowMs + REST_MS);
  const left = unrest(world);
  if (left !== undefined) oracle.fail(left.includes("unanswered") ? "S16" : "S15", left);
  if (broken()) return;
  world.end();
  for (const app of world.liveApps) app.close();
  const gone = (): boolean => world.liveApps.every((app) => !app.closing);
  await scheduler.run(() => broken() || gone(), scheduler.nowMs + CLOSE_MS);
  if (!broken() && !gone()) oracle.fail("S12", "An app is still there.");
}

function checkRuns(world: World): void {
  const { oracle, tables, clients, hasOptions } = world;
  for (const { acceptedIds, name } of clients.sendings) {
    if (!acceptedIds) return oracle.fail("S9", `Event ${name} was never accepted.`);
    if (!tables.events.has(acceptedIds[0] ?? "")) return oracle.fail("S9", `Event ${acceptedIds[0]} is gone.`);
  }
  const triggered = [...tables.runs.values()].filter(
    (run) => run.head.eventName.startsWith("sim/") && !isMadeOfAnother(run),
  );
  const triggering = clients.sendings.filter(({ name }) => name.startsWith("sim/"));
  if (!hasOptions && triggered.length !== triggering.length) {
    return oracle.fail("S9", `${triggering.length} events made ${triggered.length} runs.`);
  }
  world.flow.check();
  checkInvocations(world);
  checkForks(world);
  checkBulkJobs(world);
  checkFailures(world);
  checkEnds(world);
}

/** Each invoking step has made one run, and so has each call from outside. */
function checkInvocations({ oracle, tables, callers }: World): void {
  const runs = [...tables.runs.values()];
  const all = runs.filter((run) => run.head.eventName === "inngest/function.invoked" && !isMadeOfAnother(run));
  const called = all.filter((run) => !isInvokedByStep(run));
  callers?.check(called.map(({ head }) => head.id));
  const invoked = all.length - (callers ? called.length : 0);
  const steps = runs.flatMap(({ log }) =>
    log.filter(({ kind, dataJson }) => kind === "STEP_WAITING" && dataJson.includes('"op":"InvokeFunction"')),
  );
  if (invoked !== steps.length) oracle.fail("S24", `${steps.length} steps made ${invoked} runs.`);
}

/** Whoever is stored as hearing of failures heard of each from then on. */
function checkFailures({ oracle, tables, functions }: World): void {
  for (const plan of functions.filter(({ hearsOfFailures }) => hearsOfFailures)) {
    const sinceMs = tables.registry.madeMs.get(slugOf(plan)) ?? Number.POSITIVE_INFINITY;
    for (const { head } of tables.runs.values()) {
      const isHeard =
        environmentOf(head.functionId) === plan.environment && !head.eventName.startsWith("inngest/function.f");
      if (head.status !== "FAILED" || !isHeard || (head.endedMs ?? 0) <= sinceMs) continue;
      const heard = failuresOf(tables, head.id).filter(({ receivedMs }) => receivedMs > sinceMs);
      const runIds = heard.flatMap((event) => event.runIds).filter((runId) => !isRepair(tables, runId));
      if (heard.length === 0 || runIds.length !== heard.length)
        oracle.fail("S9", `${heard.length} failures of run ${head.id} started ${runIds.length} runs.`);
    }
  }
}

/** A run that was resumed may fail once more. */
const failuresOf = ({ events }: Tables, runId: string): EventRow[] =>
  [...events.values()].filter(({ event: { name, payloadJson } }) => {
    return plainName(name) === "inngest/function.failed" && payloadJson.includes(`"run_id":"${runId}"`);
  });

function isRepair({ runs }: Tables, runId: string): boolean {
  const run = runs.get(runId);
  return run !== undefined && isMadeOfAnother(run);
}

/** What is not at rest yet. */
function unrest(world: World): string | undefined {
  // A schedule's next request comes before one that a plain worker has refused, which it cannot say, is given up.
  const mayWait = !world.mayRefuse && world.functions.some(({ options }) => options.flowControl.type === "cron");
  for (const gateway of mayWait ? [] : world.liveGateways) {
    const { inFlight, runsInMemory } = gateway.core.dispatcher.status();
    if (inFlight > 0 || runsInMemory > 0) return `${gateway.name}: ${inFlight} dispatches, ${runsInMemory} runs.`;
  }
  for (const { name, connection, closing, pool, bodies, watch } of world.liveApps) {
    if (!connection || closing) continue;
    if ((pool?.busy ?? 0) > 0) return `${name}: ${pool?.busy} turns in its pool.`;
    if ((bodies?.busy ?? 0) > 0) return `${name}: ${bodies?.busy} bodies in its pool.`;
    const { inFlight, runningHandlers } = connection.debugState();
    if (inFlight > 0 || runningHandlers > 0) return `${name}: ${inFlight} requests, ${runningHandlers} handlers.`;
    if (watch.unanswered.length > 0) return `${name} has unanswered: ${watch.unanswered.join(", ")}.`;
  }
  return undefined;
}
