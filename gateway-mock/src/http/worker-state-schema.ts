/** What the API says of how a worker is, in its own words: the schema of `ReportedState`. */
import Type from "typebox";
import { Ms, orNull } from "./openapi/schemas.ts";

export const IsolationSchema = Type.Object(
  {
    threads: Type.Integer({ description: "Threads that are running or starting." }),
    busy: Type.Integer({ description: "Threads that have a turn." }),
    queued: Type.Integer({ description: "Turns that wait for a thread." }),
    oldestMs: orNull(
      Type.Number({ description: "How long the turn that has waited or run for the longest is there." }),
    ),
    overruns: Type.Integer({ description: "Turns that were ended because they exceeded their budget." }),
    crashes: Type.Integer({ description: "Threads that ended on their own." }),
    recycled: Type.Integer({
      description:
        "Threads that were replaced after their number of turns (`recycleAfter`), or because a turn had left code that computes.",
    }),
    abandoned: Type.Integer({ description: "Threads that could not be ended, and were left behind." }),
  },
  {
    title: "Isolation",
    description: "The threads that isolated code runs in, as the worker's `debugState().isolation` has them.",
  },
);

const StateRequestSchema = Type.Object({
  requestId: Type.String(),
  runId: Type.String(),
  functionSlug: Type.String(),
  replied: Type.Boolean({ description: "Its reply is on its way." }),
  ageMs: Type.Number(),
  leaseAgeMs: Type.Number({ description: "Since the lease was granted or extended." }),
});

const ProcessSchema = Type.Object({
  pid: Type.Integer(),
  rssBytes: Type.Number(),
  cpuMs: Type.Number({ description: "Processor time since it has started, of all of its threads." }),
  uptimeMs: Type.Number(),
  cpuShare: orNull(
    Type.Number({ description: "Processors in use between the last two reports; null: there was one." }),
  ),
});

export const WorkerStateSchema = Type.Object(
  {
    ageMs: Type.Number({ description: "How long ago the worker reported this." }),
    phase: Type.String({ description: "`ACTIVE`, `RECONNECTING`, `CLOSING` or `CONNECTING`." }),
    mainLagMs: Type.Number({
      description: "How long its main thread had been blocked by then; 0 = it was responsive.",
    }),
    roundTripMs: orNull(Type.Number({ description: "Of the last heartbeat that this gateway has answered." })),
    unansweredHeartbeats: Type.Integer(),
    inFlight: Type.Integer({ description: "Requests that it has." }),
    requests: Type.Array(StateRequestSchema, { description: "The oldest of them, at most 20." }),
    outboxCount: Type.Integer({ description: "Replies and checkpoints that have not been acknowledged." }),
    outboxBytes: Type.Number(),
    outboxFull: Type.Boolean(),
    reconnectAttempts: Type.Integer({ description: "Consecutive attempts without success." }),
    crashes: Type.Integer({ description: "Crashes of its connection thread." }),
    lastErrorCode: Type.String({
      description: "The code of the last problem of its connection; empty if there was none.",
    }),
    lastError: Type.String(),
    stalls: Type.Integer({ description: "Stalls of its main thread since its connection thread started." }),
    stallsUnseen: Type.Boolean({
      description: "True: stalls are not watched for, because that is switched off or a debugger is attached.",
    }),
    logsDropped: Type.Integer(),
    isolation: orNull(IsolationSchema),
    process: ProcessSchema,
    transitions: Type.Array(Type.Object({ atMs: Ms, event: Type.String(), from: Type.String(), to: Type.String() }), {
      description: "The last transitions of its connection's state machine, by its own clock, oldest first.",
    }),
  },
  { title: "WorkerState", description: "What a worker reports about itself, even while its main thread is blocked." },
);

export const AppWorkersSchema = Type.Object(
  {
    app: Type.String(),
    environment: Type.String(),
    workers: Type.Integer({ description: "Workers that are connected to this gateway and report their state." }),
    mainLagMs: Type.Number({
      description: "How long the worker that has been blocked the longest has been blocked; 0 = none is.",
    }),
    isolation: IsolationSchema,
  },
  { title: "AppWorkers", description: "A worker with several apps is counted for the first one." },
);
