/** The route that says what is in use of limits: places, throttles, who holds and who waits. */
import { plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import type { LimitedRun, LimitInUse } from "../dispatch/index.ts";
import { describe } from "./openapi/describe-route.ts";
import { Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

const LimitedRunSchema = Type.Object(
  { runId: Type.String(), functionId: Type.String(), sinceMs: Ms },
  { title: "LimitedRun" },
);

const KeyInUseSchema = Type.Object(
  {
    key: orNull(Type.String({ description: "The key's value; null: there is no key, or its event is gone." })),
    taken: Type.Integer({ description: "Slots that are in use; for a throttle, starts that still count against it." }),
    holders: Type.Array(LimitedRunSchema, { description: "The first ten, longest first." }),
    waiting: Type.Integer({ description: "Jobs that are due; at most 300 are counted for each function." }),
    waiters: Type.Array(LimitedRunSchema, { description: "The first ten, in the order in which they start." }),
    nextStartMs: orNull(Type.Number({ description: "Of a throttle: when the next may start; null = at once." })),
  },
  { title: "KeyInUse" },
);

const FIELDS = {
  functionId: Type.String(),
  key: orNull(Type.String({ description: "Its expression." })),
  limit: Type.Integer(),
  uses: Type.Array(KeyInUseSchema, { description: "Keys in use, at most 50; those with the most waiting runs first." }),
  isCut: Type.Boolean({ description: "True: more keys are in use than are listed." }),
};

const ConcurrencySchema = Type.Object(
  { ...FIELDS, kind: Type.Literal("concurrency"), scope: Type.Enum(["fn", "env", "account"]) },
  { title: "ConcurrencyInUse" },
);

const ThrottleSchema = Type.Object(
  { ...FIELDS, kind: Type.Literal("throttle"), burst: Type.Integer(), periodMs: Type.Number() },
  { title: "ThrottleInUse" },
);

const LIST = describe({
  operationId: "listLimits",
  summary: "Lists concurrency limits and throttles, and how much of each is in use.",
  description:
    "For each key: which runs have the slots, which runs wait for one, and when a throttle lets the next one start.",
  tag: "functions",
  query: Type.Object({}),
  answers: { 200: Type.Object({ limits: Type.Array(Type.Union([ConcurrencySchema, ThrottleSchema])) }) },
});

export function limitsApi(app: Hono, { dispatcher }: Pick<HttpParts, "dispatcher">): void {
  app.get("/v1/limits", LIST, async (c) => {
    await dispatcher.functions.renewIfChanged();
    const limits = await dispatcher.limitsInUse.of(c.get("environment"));
    return c.json({ limits: limits.map(limitView) });
  });
}

const limitView = (limit: LimitInUse): object => ({
  ...limit,
  functionId: plainName(limit.functionId),
  uses: limit.uses.map((use) => ({ ...use, holders: use.holders.map(runView), waiters: use.waiters.map(runView) })),
});

const runView = (run: LimitedRun): LimitedRun => ({ ...run, functionId: plainName(run.functionId) });
