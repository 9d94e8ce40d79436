import { APP_ID } from "./app.ts";
import type { FaultPlan } from "./faults.ts";
import type { Violation } from "./invariants.ts";
import { compensated, type FunctionPlan, invokes, resultOf, undoOf } from "./programs.ts";
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
  readonly runs: number;
  readonly faults: FaultPlan;
  /** With `trace` only. */
  readonly lines: readonly string[];
}

/** How long runs may take once the faults are over. */
const LIVENESS_MS = 120_000;
const REST_MS = 15_000;
const CLOSE_MS = 30_000;

/** Plays the schedule of a seed from its beginning to its end, or to the first invariant that is broken. */
export async function runSchedule(seed: number, options: { readonly trace?: boolean } = {}): Promise<ScheduleResult> {
  const trace = new TraceHash(options.trace === true);
  const world = new World(seed, trace);
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
    runs: world.tables.runs.size,
    faults,
    lines: [...(trace.lines ?? []), ...(trace.lines ? logsOf(world) : [])],
  };
}

/** Every function as it is played and every run's log, for people. */
function logsOf({ functions, tables }: World): string[] {
  const plans = functions.map(({ id, retries, root, fails }) => `${id}: ${JSON.stringify({ retries, fails, root })}`);
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
    world.sendings.every(({ acceptedIds }) => acceptedIds !== null) &&
    [...world.tables.runs.values()].every(({ head }) => head.endedMs !== null);
  await scheduler.run(() => broken() || allEnded(), scheduler.nowMs + LIVENESS_MS);
  if (broken()) return;
  checkRuns(world);
  if (broken()) return;
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
  const { oracle, tables, functions, sendings, cancelled, faults } = world;
  for (const { acceptedIds, name } of sendings) {
    if (!acceptedIds) return oracle.fail("S9", `Event ${name} was never accepted.`);
    const event = tables.events.get(acceptedIds[0] ?? "");
    if (event?.runIds.length !== 1)
      return oracle.fail("S9", `Event ${acceptedIds[0]} has ${event?.runIds.length} runs.`);
  }
  const triggered = [...tables.runs.values()].filter(({ head }) => head.eventName.startsWith("sim/"));
  if (triggered.length !== sendings.length) {
    return oracle.fail("S9", `${sendings.length} events made ${triggered.length} runs.`);
  }
  checkInvocations(world);
  for (const { head, log } of tables.runs.values()) {
    oracle.checkRun(head.id);
    const plan = functions.find(({ id }) => head.functionId === `${APP_ID}-${id}`);
    if (!plan) return oracle.fail("S10", `Run ${head.id} is of no function.`);
    const tail = log.slice(-6).map(({ kind, key }) => `${kind} ${key.slice(0, 8)}`);
    if (head.endedMs === null)
      return oracle.fail("S9", `Run ${head.id} is ${head.status}; its log ends ${tail.join(", ")}.`);
    if (head.status === "CANCELLED" && cancelled.has(head.id)) continue;
    // A function that it invoked may have been cancelled.
    if (cancelled.size > 0 && invokes(plan.root)) continue;
    const isRight = plan.fails
      ? head.status === "FAILED" && (head.errorJson ?? "").includes(`${plan.id} fails`)
      : head.status === "COMPLETED" && head.outputJson === JSON.stringify(resultOf(plan.root, functions));
    const said = `${head.status} ${head.outputJson ?? head.errorJson}`;
    if (plan.fails) checkUndone(world, head.id, plan);
    if (!isRight) return oracle.fail("S10", `Run ${head.id} of ${plan.id} ended ${said.slice(0, 500)}.`);
  }
  if (faults.isGentle && oracle.leasesLost > 0) oracle.fail("S21", `${oracle.leasesLost} were lost.`);
}

/** Each invoking step has made one run. */
function checkInvocations({ oracle, tables }: World): void {
  const runs = [...tables.runs.values()];
  const invoked = runs.filter(({ head }) => head.eventName === "inngest/function.invoked").length;
  const steps = runs.flatMap(({ log }) =>
    log.filter(({ kind, dataJson }) => kind === "STEP_WAITING" && dataJson.includes('"op":"InvokeFunction"')),
  );
  if (invoked !== steps.length) oracle.fail("S24", `${steps.length} steps made ${invoked} runs.`);
}

/** Every finished step that can be undone was, in a run that failed for good. */
function checkUndone({ oracle, tables }: World, runId: string, plan: FunctionPlan): void {
  const wanted = new Set(compensated(plan.root));
  for (const { kind, dataJson } of tables.runs.get(runId)?.log ?? []) {
    if (kind !== "STEP_COMPLETED") continue;
    const { data } = JSON.parse(dataJson) as { data: unknown };
    if (typeof data !== "string" || !wanted.has(data)) continue;
    if (!oracle.begun.has(`${runId} ${undoOf(data)}`)) oracle.fail("S25", `Run ${runId}, step ${data}.`);
  }
}

/** What is not at rest yet. */
function unrest(world: World): string | undefined {
  for (const gateway of world.liveGateways) {
    const { inFlight, runsInMemory } = gateway.core.engine.status();
    if (inFlight > 0 || runsInMemory > 0) return `${gateway.name}: ${inFlight} dispatches, ${runsInMemory} runs.`;
  }
  for (const { name, connection, closing, watch } of world.liveApps) {
    if (!connection || closing) continue;
    const { inFlight, runningHandlers } = connection.debugState();
    if (inFlight > 0 || runningHandlers > 0) return `${name}: ${inFlight} requests, ${runningHandlers} handlers.`;
    if (watch.unanswered.length > 0) return `${name} has unanswered: ${watch.unanswered.join(", ")}.`;
  }
  return undefined;
}
