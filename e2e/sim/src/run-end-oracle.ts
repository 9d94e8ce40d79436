/** Checks, once a schedule is over, that every run has ended as its function says, or as something explains. */
import { continuedAs, readRunCreated, readStepRow } from "@holdfast/engine";
import { environmentOf, plainName, qualify, type RunHead, type RunRow } from "@holdfast/store";
import { slugOf } from "./flow-oracle.ts";
import { isEdited, isMadeOfAnother } from "./operator-oracle.ts";
import { BY_BULK } from "./operator-words.ts";
import { type FlowControl, STOP } from "./planned-options.ts";
import { compensated, type FunctionPlan, invokes, invokesStoppable, resultOf, rootKey, undoOf } from "./programs.ts";
import type { World } from "./world.ts";

/** A gateway may know the database's time so badly. */
const EARLY_MS = 1_500;
/** Until a run that an event cancels is notified of it, with the lease of a gateway that died in between. */
const TOLD_MS = 30_000;

/** So long a run of a schedule may take where what is refused is given up with its lease: more than one for each pass. */
const TICK_MS = 60_000;

/** A run that a schedule made, and that may still be under way: the schedule goes on, and another one always may. */
export const isYoungTick = ({ tables, mayRefuse }: World, { endedMs, createdMs, eventName }: RunHead): boolean =>
  !mayRefuse &&
  endedMs === null &&
  plainName(eventName) === "inngest/scheduled.timer" &&
  tables.nowMs - createdMs < TICK_MS;

/** Whether every run has ended, as its function says or as something that is there made it. */
export function checkEnds(world: World): void {
  const { oracle, tables, cancelled, faults } = world;
  for (const run of tables.runs.values()) {
    const { head, log } = run;
    oracle.checkRun(head.id);
    const plan = world.functions.find((one) => head.functionId === slugOf(one));
    if (!plan) return oracle.fail("S10", `Run ${head.id} is of no function.`);
    const functions = world.functions.filter(({ environment }) => environment === plan.environment);
    checkEnvironment(world, head, plan);
    const tail = log.slice(-6).map(({ kind, key }) => `${kind} ${key.slice(0, 8)}`);
    if (isYoungTick(world, head)) continue;
    if (head.endedMs === null)
      return oracle.fail("S9", `Run ${head.id} is ${head.status}; its log ends ${tail.join(", ")}.`);
    if (!isRightLink(world, run, plan)) return;
    if (continuedAs(log) !== null) continue;
    if (head.status === "FAILED" && !isEdited(run)) checkUndone(world, run, plan);
    if (head.status === "CANCELLED" && linksTo(world, head.id).some((id) => cancelled.has(id))) continue;
    if (head.status === "CANCELLED" && cancelled.has(BY_BULK) && (head.errorJson ?? "").includes("by bulk job"))
      continue;
    if (isStopped(head)) {
      if (!isExplained(world, run, plan)) oracle.fail("S27", `Run ${head.id} of ${plan.id}: ${head.errorJson}`);
      continue;
    }
    checkHadToStop(world, run, plan);
    // A function that it invoked may have been cancelled.
    if (cancelled.size > 0 && invokes(plan.root)) continue;
    if (invokesStoppable(plan.root, functions)) continue;
    // A pool thread that is lost costs its turn an attempt.
    if (hasLostThread(run) || (invokes(plan.root) && [...tables.runs.values()].some(hasLostThread))) continue;
    // There a worker that is lost costs its runs an attempt.
    if (world.isPlain && (hasLostWorker(run) || (invokes(plan.root) && [...tables.runs.values()].some(hasLostWorker))))
      continue;
    // What it was told is not what its program gives, and what it heard was meant for another run.
    if (isEdited(run) || (isMadeOfAnother(run) && plan.root.type === "foretold")) continue;
    const isRight = plan.fails
      ? head.status === "FAILED" && (head.errorJson ?? "").includes(`${plan.id} fails`)
      : head.status === "COMPLETED" &&
        head.outputJson === JSON.stringify(resultOf(plan.root, functions, rootKey(plan)));
    const said = `${head.status} ${head.outputJson ?? head.errorJson}`;
    if (!isRight) return oracle.fail("S10", `Run ${head.id} of ${plan.id} ended ${said.slice(0, 500)}.`);
  }
  if (faults.isGentle && !world.isPlain && oracle.leasesLost > 0) oracle.fail("S21", `${oracle.leasesLost} were lost.`);
}

const chainOf = (row: RunRow | undefined) => row?.log[0] && readRunCreated(row.log[0].dataJson).meta.chain;

/** The run and those before it in its chain: who cancels one that went on cancels the last one. */
function linksTo({ tables }: World, runId: string): readonly string[] {
  const ids: string[] = [];
  for (let id: string | undefined = runId; id !== undefined; id = chainOf(tables.runs.get(id))?.from) ids.push(id);
  return ids;
}

function linkOf(createdJson: string | undefined): number {
  const { event } = JSON.parse(createdJson ?? "{}") as { event?: { data?: { link?: number } } };
  return event?.data?.link ?? 0;
}

/** It goes on as one other run, or is the last of its chain. */
function isRightLink(world: World, { head, log }: RunRow, plan: FunctionPlan): boolean {
  const { oracle, tables } = world;
  const rows = [...tables.runs.values()].filter((row) => !isMadeOfAnother(row));
  const next = rows.filter((row) => chainOf(row)?.from === head.id).map((row) => row.head.id);
  const wanted = continuedAs(log);
  // A run that is made of one in a chain is where that one was.
  const length = linkOf(log[0]?.dataJson);
  const isDone = wanted !== null || head.status !== "COMPLETED" || length === plan.continues;
  if (next.join() === (wanted ?? "") && isDone && length <= plan.continues) return true;
  oracle.fail(
    "S48",
    `Run ${head.id}, ${length + 1} of ${plan.continues + 1}, goes on as ${wanted}; there are ${next}.`,
  );
  return false;
}

function checkEnvironment({ oracle, tables }: World, head: RunHead, { environment }: FunctionPlan): void {
  const event = tables.events.get(head.eventId)?.event;
  const isOther = (name: string | undefined): boolean => name !== undefined && environmentOf(name) !== environment;
  if (isOther(head.appId) || isOther(event?.name))
    oracle.fail("S43", `Run ${head.id} of ${head.functionId} is of app ${head.appId} and event ${event?.name}.`);
}

const LOST_WORKER = /connect_worker_stopped_responding|connect_no_healthy_connection/;

const LOST_THREAD = /ISOLATE_THREAD_LOST|ISOLATE_BUDGET/;

const hasLostThread = ({ log }: RunRow): boolean => log.some(({ dataJson }) => LOST_THREAD.test(dataJson));

const hasLostWorker = ({ log }: RunRow): boolean => log.some(({ dataJson }) => LOST_WORKER.test(dataJson));

const DEADLINE = "RUN_DEADLINE_EXCEEDED";

const isStopped = ({ status, errorJson }: RunHead): boolean =>
  status === "CANCELLED" || (status === "FAILED" && (errorJson ?? "").includes(DEADLINE));

/** From when on the run's times count. */
function beginMs({ tables }: World, { createdMs, eventId }: RunHead, { type }: FlowControl): number {
  const event = tables.events.get(eventId)?.event;
  // Events that are collected make a run when their window is over, whatever their own time.
  const isCollected = type === "debounce" || type === "batch";
  return Math.max(createdMs, !isCollected && event && plainName(event.name).startsWith("sim/") ? event.tsMs : 0);
}

function isExplained(world: World, { head }: RunRow, { options }: FunctionPlan): boolean {
  const { deadlineMs, finishMs, startMs, flowControl } = options;
  const startedMs = world.flow.startMs(head.id);
  const why = head.errorJson ?? "";
  const endedMs = (head.endedMs ?? 0) + EARLY_MS;
  if (head.status === "FAILED") return deadlineMs !== null && endedMs >= beginMs(world, head, flowControl) + deadlineMs;
  if (why.includes("timeouts.finish")) return finishMs !== null && endedMs >= (startedMs ?? 0) + finishMs;
  if (why.includes("timeouts.start")) {
    // It counts from the event's time; a database that is stalled may take the event long after that.
    const fromMs = Math.min(
      beginMs(world, head, flowControl),
      world.tables.events.get(head.eventId)?.event.tsMs ?? Infinity,
    );
    return startMs !== null && startedMs === undefined && endedMs >= fromMs + startMs;
  }
  if (why.includes(`by the event \\"${STOP}\\"`)) {
    // One that came for an earlier run of a chain ends the one that it has gone on as.
    const heads = linksTo(world, head.id).flatMap((id) => world.tables.runs.get(id)?.head ?? []);
    return options.cancelOn && heads.some((one) => stopsOf(world, one, 1).length > 0);
  }
  return why.includes("same singleton") && flowControl.type === "singleton" && flowControl.mode === "cancel";
}

/**
 * When events came that cancel the run. A database that stood still does much in one millisecond: in which order is not
 * seen by its time.
 */
function stopsOf({ tables }: World, head: RunHead, doubtMs = 0): number[] {
  const { createdMs, endedMs, eventId, functionId } = head;
  const key = keyOf(tables.events.get(eventId)?.event.payloadJson);
  return [...tables.events.values()]
    .filter(({ event }) => event.name === qualify(environmentOf(functionId), STOP) && keyOf(event.payloadJson) === key)
    .map(({ receivedMs }) => receivedMs)
    .filter((atMs) => atMs > createdMs - doubtMs && atMs <= (endedMs ?? atMs));
}

const keyOf = (payloadJson: string | undefined): unknown =>
  (JSON.parse(payloadJson ?? "{}") as { data?: { key?: unknown } }).data?.key;

/** A run that stays for longer than it may has to be ended. */
function checkHadToStop(world: World, run: RunRow, { options, stays, id }: FunctionPlan): void {
  const { oracle, tables, calmMs } = world;
  const { head } = run;
  const endedMs = head.endedMs ?? 0;
  // At a plain gateway it may have failed before that: workers that are lost take attempts with them.
  const deadlineMs = beginMs(world, head, options.flowControl) + (options.deadlineMs ?? Infinity);
  const finishMs = (world.flow.startMs(head.id) ?? 0) + (options.finishMs ?? Infinity);
  const dueMs = Math.min(deadlineMs, finishMs);
  if (hasLostThread(run) && endedMs <= dueMs + TOLD_MS) return;
  if (world.isPlain && hasLostWorker(run) && endedMs <= dueMs + TOLD_MS) return;
  const isLate = stays && (options.deadlineMs !== null || options.finishMs !== null);
  const tooLateMs = Math.max(...stopsOf(world, head).slice(0, 1), tables.epochMs + (calmMs ?? 0)) + TOLD_MS;
  const isUntold = options.cancelOn && stopsOf(world, head).length > 0 && endedMs > tooLateMs;
  if (isLate || isUntold) oracle.fail("S28", `Run ${head.id} of ${id} is ${head.status}.`);
}

const COMPENSATION = "compensate ";

/** Every finished step that can be undone was, in a run that failed permanently, and in the right order. */
function checkUndone({ oracle, isPlain }: World, run: RunRow, plan: FunctionPlan): void {
  const { head, log } = run;
  const wanted = new Set(compensated(plan.root, rootKey(plan)));
  const finished: string[] = [];
  const undone: string[] = [];
  const late = new Set<string>();
  const notBegun: string[] = [];
  const undoingFrom = beginOfUndoing(log);
  for (const [index, { kind, dataJson }] of log.entries()) {
    if (kind !== "STEP_COMPLETED") continue;
    const { data } = JSON.parse(dataJson) as { data: unknown };
    const { undo, name } = readStepRow(kind, dataJson).meta;
    if (name?.startsWith(COMPENSATION)) undone.push(name.slice(COMPENSATION.length));
    // Others may be undone already when the loser of a race finishes.
    if (undo !== undefined && index > undoingFrom) late.add(undo);
    if (typeof data !== "string" || !wanted.has(data)) continue;
    if (!oracle.begun.has(`${head.id} ${undoOf(data)}`)) notBegun.push(data);
    if (undo !== undefined) finished.push(undo);
  }
  const inTime = (undo: string): boolean => !late.has(undo);
  const wantedOrder = finished.toReversed().filter(inTime).join(", ");
  const order = undone.filter(inTime).join(", ");
  if ((hasLostThread(run) || (isPlain && hasLostWorker(run))) && isReportedStopped(head, finished, undone)) return;
  for (const step of notBegun) oracle.fail("S25", `Run ${head.id}, step ${step}.`);
  if (order !== wantedOrder) oracle.fail("S26", `Run ${head.id}: ${order} instead of ${wantedOrder}.`);
  if (new Set(undone).size !== undone.length || undone.length !== finished.length)
    oracle.fail("S26", `Run ${head.id}: ${undone.join(", ")} of ${finished.join(", ")}.`);
}

/**
 * Lost workers of a plain gateway cost attempts, also while steps are undone: once none is left the run ends, and its
 * error says how far they got. What was undone must be the newest of what had finished, and the rest be reported.
 */
function isReportedStopped({ errorJson }: RunHead, finished: readonly string[], undone: readonly string[]): boolean {
  const { compensation } = JSON.parse(errorJson ?? "{}") as {
    compensation?: { stoppedBy?: unknown; undone: readonly string[]; notRun: readonly string[] };
  };
  if (!compensation?.stoppedBy) return false;
  const newestFirst = finished.toReversed().join(", ");
  return (
    [...compensation.undone, ...compensation.notRun].join(", ") === newestFirst &&
    compensation.undone.join(", ") === undone.join(", ")
  );
}

/** Where in the log the pass was given out that undid the first step: what finished later it did not know. */
function beginOfUndoing(log: RunRow["log"]): number {
  const first = log.findIndex(
    ({ kind, dataJson }) => kind.startsWith("STEP_") && dataJson.includes(`"${COMPENSATION}`),
  );
  return log.slice(0, Math.max(0, first)).findLastIndex(({ kind, key }) => kind === "DISPATCHED" && key === "");
}
