/**
 * What several routes answer, as JSON Schema: errors, runs, steps, events. A schema with a title becomes a component
 * of the document. The views beside (`run-view.ts`, ...) make the values; the tests hold both together.
 */
import { RUN_STATUSES } from "@holdfast/store";
import Type, { type TSchema } from "typebox";

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Milliseconds since 1970. */
export const Ms = Type.Number();
/** A time as people write it. */
export const At = Type.String({ format: "date-time" });
/** Whatever JSON can carry. */
export const Json = Type.Unknown();

export const ErrorSchema = Type.Object(
  {
    error: Type.String({ description: "What was wrong, and how to fix it." }),
    code: Type.String({ description: "A code of docs/errors.md; its meaning never changes." }),
    status: Type.Integer(),
    docs: Type.Optional(Type.String({ description: "The address of the page about the code, if there is one." })),
    problems: Type.Optional(
      Type.Array(Type.Object({}, { additionalProperties: true }), {
        description:
          "With `GRAPH_INVALID`: everything that is wrong, each as `{ code, nodeId, edge, path, message, fix }`.",
      }),
    ),
    revision: Type.Optional(
      Type.Integer({ description: "With `GRAPH_CONFLICT`: the revision of the draft; 0 = there is no draft." }),
    ),
  },
  { title: "Error" },
);

export const RunStatusSchema = Type.Enum([...RUN_STATUSES], { title: "RunStatus" });

const RUN_FIELDS = {
  id: Type.String(),
  functionId: Type.String({ description: "`<app>-<function>`." }),
  appId: Type.String(),
  environment: Type.String(),
  appVersion: Type.String({ description: "The version of the app that the run belongs to." }),
  status: RunStatusSchema,
  eventId: Type.String({ description: "The event that started it." }),
  eventName: Type.String(),
  output: Type.Unknown({ description: "What the function returned; null until then." }),
  error: Type.Unknown({
    description: "The error that it ended with: `{ name, message, stack, cause }`; otherwise null.",
  }),
  createdAt: At,
  startedAt: orNull(At),
  endedAt: orNull(At),
  createdMs: Ms,
  startedMs: orNull(Ms),
  endedMs: orNull(Ms),
};

export const RunSchema = Type.Object(RUN_FIELDS, { title: "Run" });

export const StepSchema = Type.Object(
  {
    id: Type.String({ description: "A digest of the step's id in the code." }),
    name: orNull(Type.String({ description: "The id that the author gave." })),
    op: Type.String({ description: "Its kind on the wire: `StepRun`, `Sleep`, `WaitForEvent` ..." }),
    status: Type.Enum(["planned", "waiting", "retrying", "completed", "failed"]),
    attempt: Type.Integer({ description: "The attempt that ended it, from 0." }),
    failedAttempts: Type.Array(Type.Object({ attempt: Type.Integer(), atMs: Ms, error: Json })),
    startedMs: orNull(Ms),
    durationMs: orNull(Type.Number({ description: "As the worker measured it." })),
    openedMs: orNull(Type.Number({ description: "When it was planned or began to wait." })),
    dueMs: orNull(Type.Number({ description: "When the wait ends." })),
    endedMs: orNull(Type.Number({ description: "When its result was stored." })),
    startedAt: orNull(At),
    openedAt: orNull(At),
    dueAt: orNull(At),
    endedAt: orNull(At),
    output: Type.Optional(Json),
    error: Type.Optional(Json),
    kept: Type.Optional(Type.Boolean({ description: "Whether it ended in the run that this one was forked from." })),
    edited: Type.Optional(Type.Boolean({ description: "Whether its result was given with the fork." })),
    compensation: Type.Optional(
      Type.Boolean({ description: "Whether it undoes another step, or records why steps are undone." }),
    ),
    forkable: Type.Boolean({ description: "Whether a new run can be forked from it, as far as the run's log says." }),
  },
  { title: "Step" },
);

const RunningSchema = Type.Object(
  {
    name: orNull(Type.String({ description: "The id that the author gave." })),
    sinceMs: Ms,
    sinceAt: At,
  },
  { title: "RunningStep" },
);

export const HoldSchema = Type.Object(
  { reason: Type.String(), heldAt: At, heldMs: Ms },
  { title: "Hold", description: "The run is kept until it is released, whatever its age." },
);

/** Why a run that has not ended is where it is: docs/waiting.md. */
const WaitingSchema = Type.Object(
  {
    reason: Type.String({ description: "For scripts: `NO_WORKER`, `LIMITS`, `SLEEPING` ..." }),
    message: Type.String({ description: "One sentence, for people." }),
    untilAt: orNull(At),
    untilMs: orNull(Type.Number({ description: "When it is over by itself, as far as that is known." })),
    step: orNull(Type.String({ description: "The step that it is about, as its author named it." })),
    runId: orNull(Type.String({ description: "Another run: the one that has the place, or that was invoked." })),
    instanceId: orNull(Type.String({ description: "The worker that has it." })),
  },
  { title: "Waiting" },
);

const GraphOfRunSchema = orNull(
  Type.Object(
    {
      id: orNull(Type.String({ description: "Null: the graph is deleted, or was never stored." })),
      tenant: orNull(
        Type.String({ description: "The tenant that it belongs to; empty for gateways without tenants." }),
      ),
      version: orNull(Type.Integer({ description: "Null: of a test." })),
      test: Type.Boolean({ description: "Whether it is a test of a graph, which is removed a day after it began." }),
    },
    { title: "GraphOfRun", description: "The graph that the run belongs to; null: none." },
  ),
);

/** A run in lists. */
export const ListedRunSchema = Type.Object(
  { ...RUN_FIELDS, graph: GraphOfRunSchema, waiting: Type.Optional(orNull(WaitingSchema)) },
  { title: "ListedRun" },
);

const JobSchema = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  key: Type.String(),
  attempt: Type.Integer(),
  epoch: Type.Integer(),
  availableMs: Ms,
  leasedBy: orNull(Type.String()),
  claimedMs: orNull(Ms),
  isUnplaced: Type.Boolean(),
});

const WaitSchema = Type.Object({
  runId: Type.String(),
  key: Type.String(),
  kind: Type.Enum(["event", "signal", "invoke", "cancel"]),
  name: Type.String({ description: "The event, the signal, or the run that is waited for." }),
  expression: orNull(Type.String()),
  match: Type.String(),
  beganMs: Ms,
  expiresMs: orNull(Ms),
});

const DeferSchema = Type.Object({
  id: Type.String(),
  name: orNull(Type.String()),
  functionId: Type.String(),
  status: Type.Enum(["scheduled", "aborted", "rejected"]),
  reason: orNull(Type.String()),
  eventId: orNull(Type.String()),
});

const StallSchema = Type.Object({ atMs: Ms }, { additionalProperties: true });

const LossSchema = Type.Object(
  { atMs: Ms, writes: Type.Integer(), restored: Type.Integer() },
  { description: "Writes of the run that the database had forgotten, and how many of them are there again." },
);

const FactSchema = Type.Object({
  seq: Type.Number(),
  atMs: Ms,
  kind: Type.String(),
  key: Type.String(),
  attempt: Type.Integer(),
  iteration: Type.Integer(),
  data: Json,
});

export const RunDetailSchema = Type.Object(
  {
    ...RUN_FIELDS,
    graph: GraphOfRunSchema,
    version: Type.Integer({ description: "Rises with each decision on the run." }),
    event: Type.Unknown({ description: "The event that started it, as the function receives it." }),
    maxAttempts: orNull(Type.Integer()),
    parent: orNull(Type.Object({ runId: Type.String(), key: Type.String() })),
    rerunOf: orNull(Type.String({ description: "The run that it is a rerun of." })),
    forkedFrom: orNull(
      Type.Object(
        { runId: Type.String(), step: Type.String() },
        { description: "The run whose steps it kept, and the step from which it went on by itself." },
      ),
    ),
    descendants: Type.Array(
      Type.Object({ runId: Type.String(), kind: Type.Enum(["rerun", "fork"]), step: orNull(Type.String()) }),
      { description: "The newest runs that were rerun or forked from this one." },
    ),
    continuedFrom: orNull(Type.String({ description: "The run that went on as this one (`continueAs`)." })),
    continuedAs: orNull(Type.String({ description: "The run as which it went on: its end was not the end." })),
    deadlineMs: orNull(Ms),
    deadlineAt: orNull(At),
    compensating: Type.Boolean({ description: "Whether its steps are being undone, or were." }),
    resumable: Type.Boolean({
      description: "Whether it can be resumed: it failed or was cancelled, and none of its steps was undone.",
    }),
    compensationsLeft: Type.Boolean({
      description: "Whether its compensations can be retried: it failed, and a step that was to be undone was not.",
    }),
    steps: Type.Array(StepSchema),
    running: Type.Array(RunningSchema, {
      description:
        "Steps whose code is running, oldest first. When steps run in place, only those that have been running for two seconds, as a " +
        "worker of this gateway reports; the list may be a second old.",
    }),
    defers: Type.Array(DeferSchema),
    stalls: Type.Array(StallSchema),
    commitsLost: Type.Array(LossSchema),
    hold: orNull(HoldSchema),
    leasesLost: Type.Integer(),
    jobs: Type.Array(JobSchema),
    waits: Type.Array(WaitSchema),
    waiting: orNull(WaitingSchema),
    log: Type.Optional(
      Type.Array(FactSchema, { description: "With `log=1`: the facts from which the run's state is computed." }),
    ),
  },
  { title: "RunDetail" },
);
