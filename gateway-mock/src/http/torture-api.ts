/** Routes that torture a function, of gateways for development: a caller asks for round after round. */
import { randomInt } from "node:crypto";
import { HoldfastError } from "@holdfast/core";
import { isEnded } from "@holdfast/engine";
import { isRecord } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";
import { findFunction } from "../dispatch/index.ts";
import { invalid } from "../faults/rules/read-rule.ts";
import { CALM_ROUNDS, roundText } from "../faults/torture/plan.ts";
import { PROBLEM_KINDS } from "../faults/torture/torture-types.ts";
import { type RoundResult, type RunEnd, Torturer } from "../faults/torture/torturer.ts";
import { limitBody } from "./bodies.ts";
import { notFound } from "./errors.ts";
import { faultsOf } from "./faults-api.ts";
import { answerJson, jsonWith } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { runDetailView } from "./run-view.ts";

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_TORTURES = 20;
const MAX_SEED = 2 ** 32;
const DEFAULTS = { chaosRounds: 10, roundMs: 30_000 } as const;
const MAX_CHAOS_ROUNDS = 10_000;
const MAX_ROUND_MS = 600_000;

const ProblemSchema = Type.Object(
  {
    kind: Type.Enum([...PROBLEM_KINDS]),
    round: Type.Integer(),
    seed: Type.Integer(),
    step: orNull(Type.String()),
    runId: Type.String(),
    text: Type.String({ description: "What was seen, and what to do about it." }),
  },
  { title: "TortureProblem" },
);

const StepSchema = Type.Object({
  step: Type.String(),
  bodies: Type.Integer({ description: "How often its body ran, in the run in which it ran most." }),
  roundsRepeated: Type.Integer({ description: "In how many rounds it ran more than once." }),
  resultsDiffer: Type.Boolean({ description: "In a run in which it ran more than once it did not give the same." }),
});

const ReportSchema = Type.Object(
  {
    functionId: Type.String(),
    seed: Type.Integer(),
    rounds: Type.Integer(),
    steps: Type.Array(StepSchema),
    problems: Type.Array(ProblemSchema),
    notes: Type.Array(Type.String()),
  },
  { title: "TortureReport" },
);

const BEGIN = describe({
  operationId: "beginTorture",
  summary: "Starts a torture test of a function; nothing happens until its first round is requested.",
  tag: "faults",
  body: {
    contentType: "application/json",
    schema: Type.Object({
      function: Type.String(),
      data: Type.Optional(Type.Any({ description: "The data of the event that each run is given." })),
      seed: Type.Optional(Type.Integer({ minimum: 0 })),
      chaosRounds: Type.Optional(Type.Integer({ minimum: 0, default: DEFAULTS.chaosRounds })),
      round: Type.Optional(orNull(Type.Integer({ description: "Only this one, to see it again." }))),
      roundMs: Type.Optional(Type.Number({ default: DEFAULTS.roundMs, description: "How long a run may take." })),
    }),
  },
  answers: { 201: Type.Object({ id: Type.String(), functionId: Type.String(), seed: Type.Integer() }) },
  failures: { 403: "This gateway makes no faults.", 404: "There is no such function." },
});

const NEXT = describe({
  operationId: "nextTortureRound",
  summary: "Runs the next round of a torture test; after the last one, the answer is the report.",
  description: "`effects` are those of the run of the round before, as the caller has read them; they are compared.",
  tag: "faults",
  params: { id: "The torture's id." },
  body: { contentType: "application/json", schema: Type.Object({ effects: Type.Optional(Type.Any()) }) },
  answers: {
    200: Type.Object({
      round: orNull(
        Type.Object({
          number: Type.Integer(),
          rounds: orNull(Type.Integer({ description: "How many there are; null: that is not known yet." })),
          seed: Type.Integer(),
          text: Type.String(),
          runId: Type.String(),
          eventId: Type.String(),
          status: Type.String(),
          faults: Type.Array(Type.String()),
        }),
      ),
      report: orNull(ReportSchema),
    }),
  },
  failures: { 403: "This gateway makes no faults.", 404: "There is no such torture, or its report was given." },
});

const END = describe({
  operationId: "endTorture",
  summary: "Discards a torture test before its end.",
  tag: "faults",
  params: { id: "The torture's id." },
  answers: { 200: Type.Object({ removed: Type.String() }) },
  failures: { 404: "There is no such torture." },
});

export function tortureApi(app: Hono, parts: HttpParts): void {
  const tortures = new Map<string, Torturer>();
  const find = (c: Context): { id: string; torturer: Torturer } => {
    const id = c.req.param("id") ?? "";
    const torturer = tortures.get(id);
    if (!torturer) throw notFound(`There is no torture ${JSON.stringify(id.slice(0, 80))}, or its report was given.`);
    return { id, torturer };
  };

  app.post("/v1/torture", BEGIN, limitBody(MAX_BODY_BYTES), async (c) => {
    faultsOf(parts);
    const body = await bodyOf(c);
    const { data = {}, seed = randomInt(MAX_SEED), round = null } = body;
    const { id: qualified } = await findFunction(
      parts.dispatcher.functions,
      c.get("environment"),
      textOf(body.function),
    );
    const options = {
      functionId: plainName(qualified),
      data,
      seed: integerOf(seed, "seed", 0, MAX_SEED - 1),
      chaosRounds: integerOf(body.chaosRounds ?? DEFAULTS.chaosRounds, "chaosRounds", 0, MAX_CHAOS_ROUNDS),
      round: round === null ? null : integerOf(round, "round", CALM_ROUNDS + 1, 1_000_000),
      roundMs: integerOf(body.roundMs ?? DEFAULTS.roundMs, "roundMs", 100, MAX_ROUND_MS),
    };
    const id = parts.newId();
    tortures.set(id, torturerOf(parts, c.get("environment"), options));
    for (const oldest of tortures.keys()) if (tortures.size > MAX_TORTURES) tortures.delete(oldest);
    return c.json({ id, functionId: options.functionId, seed: options.seed }, 201);
  });

  app.post("/v1/torture/:id/next", NEXT, limitBody(MAX_BODY_BYTES), async (c) => {
    faultsOf(parts);
    const { id, torturer } = find(c);
    const { effects } = await bodyOf(c);
    const result = await torturer.next(effects === undefined ? null : JSON.stringify(effects));
    if (result) return answerJson(c, { round: roundView(result, torturer.rounds), report: null });
    tortures.delete(id);
    return answerJson(c, { round: null, report: torturer.report() });
  });

  app.delete("/v1/torture/:id", END, (c) => {
    const { id } = find(c);
    tortures.delete(id);
    return answerJson(c, { removed: id });
  });
}

function torturerOf(
  parts: HttpParts,
  environment: string,
  options: ConstructorParameters<typeof Torturer>[0],
): Torturer {
  const { dispatcher, conversations, clock, timers, store, skipTime } = parts;
  const faults = faultsOf(parts);
  const skipToNext = async (): Promise<void> => {
    const dueMs = await store.nextDueInMs(["", ...[...dispatcher.functions.all()].map(({ id }) => id)]);
    if (dueMs !== null && dueMs > 0) await skipTime?.(dueMs);
  };
  return new Torturer(options, {
    timers,
    monotonicMs: () => clock.monotonicMs(),
    listen: (listener) => conversations.listen(listener),
    addFault: (fault) => faults.add(fault),
    removeFault: (id) => void faults.remove(id),
    faultTexts: (ids) =>
      faults
        .history(MAX_FAULT_TEXTS)
        .filter(({ faultId }) => ids.includes(faultId))
        .map(({ text }) => text)
        .reverse(),
    start: async (data) => {
      const made = await dispatcher.invoke({ environment, function: options.functionId, data });
      if (made.outcome === "started") return { runId: made.runId, eventId: made.eventId };
      throw invalid(
        `${options.functionId} starts no run for each event (${made.reason}): torture it without that, or at a gateway of its own.`,
      );
    },
    cancel: (runId) => dispatcher.cancel(runId, "The torture has given it up."),
    read: (runId) => readRun(parts, runId),
    skipToNext: skipTime ? skipToNext : undefined,
  });
}

const MAX_FAULT_TEXTS = 200;

async function readRun({ store, dispatcher }: HttpParts, runId: string): Promise<RunEnd> {
  const detail = await store.getRun(runId);
  if (!detail) throw notFound(`The run ${runId} is gone.`);
  const { status } = detail.head;
  const isOver = isEnded(status);
  const { output, error } = JSON.parse(jsonWith(runDetailView(detail, false))) as Partial<Record<string, unknown>>;
  const why = isOver ? null : await dispatcher.waitingRuns.whyWaits(detail);
  return {
    status,
    isEnded: isOver,
    isWaiting: status === "WAITING" || status === "PENDING",
    output,
    error,
    waits: why?.message ?? null,
  };
}

function roundView({ round, run }: RoundResult, rounds: number | null): object {
  return {
    number: round.number,
    rounds,
    seed: round.seed,
    text: roundText(round),
    runId: run.runId,
    eventId: run.eventId,
    status: run.status,
    faults: run.faults,
  };
}

async function bodyOf(c: Context): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await c.req.json().catch(() => null);
  if (isRecord(body)) return body;
  throw new HoldfastError("BODY_INVALID", 'The body must be a JSON object, such as { "function": "shop-order" }.');
}

function textOf(value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw new HoldfastError("BODY_INVALID", "`function` must name a function, such as shop-order.");
}

function integerOf(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new HoldfastError("BODY_INVALID", `\`${name}\` must be a whole number from ${min} to ${max}.`);
}
