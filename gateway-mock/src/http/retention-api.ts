/** Routes that remove old runs or say what would go, and that put a run on hold. */
import { HoldfastError, parseDurationMs } from "@holdfast/core";
import type { RetentionPolicy } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { overridden, type PeriodOverride } from "../retention-policy.ts";
import { limitBody } from "./bodies.ts";
import { bodyOf } from "./body-fields.ts";
import { notFound } from "./errors.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { HoldSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";

const MAX_BODY_BYTES = 16 * 1024;
const MAX_REASON = 1_000;
const MAX_PERIOD_MS = 3650 * 86_400_000;
/** Of one call; the caller calls again until it is done. */
const PIECE_MS = 5_000;

const json = (schema: ReturnType<typeof Type.Object>) => ({ contentType: "application/json", schema });
const Period = Type.Union([Type.Number(), Type.String()], { description: "Milliseconds, `7d`, or `off`." });

const PRUNE = describe({
  operationId: "prune",
  summary: "Removes old runs, for a few seconds, or says what would be removed.",
  description:
    "Gateways also do this by themselves from time to time. Repeat the call with `sinceMs` of the answer until `state` is `done`. `completed` and `failed` apply to all functions of the environment, in place of their own settings and the gateway's.",
  tag: "gateway",
  body: json(
    Type.Object({
      dryRun: Type.Optional(Type.Boolean()),
      completed: Type.Optional(Period),
      failed: Type.Optional(Period),
      sinceMs: Type.Optional(Type.Number({ description: "`sinceMs` of the first answer." })),
    }),
  ),
  answers: {
    200: Type.Union([
      Type.Object({
        state: Type.Enum(["done", "more", "busy", "blocked"]),
        removedRuns: Type.Number(),
        removedEvents: Type.Number(),
        sinceMs: Type.Number(),
      }),
      Type.Object({
        runs: Type.Number(),
        events: Type.Number(),
        bytes: Type.Number({ description: "An estimate." }),
        oldestRunMs: Type.Union([Type.Number(), Type.Null()], { description: "Of the runs that stay." }),
      }),
    ]),
  },
});

const HOLD = describe({
  operationId: "holdRun",
  summary: "Keeps a run whatever its age, until it is released.",
  tag: "runs",
  params: { id: "The run's id." },
  body: json(Type.Object({ reason: Type.Optional(Type.String({ maxLength: MAX_REASON })) })),
  answers: { 200: HoldSchema },
  failures: { 404: "There is no such run." },
});

const RELEASE = describe({
  operationId: "releaseRun",
  summary: "Releases a run that is on hold: it is removed when its retention is over.",
  tag: "runs",
  params: { id: "The run's id." },
  answers: { 200: Type.Object({ released: Type.Boolean({ description: "False: it was not on hold." }) }) },
  failures: { 404: "There is no such run." },
});

export function retentionApi(app: Hono, parts: HttpParts): void {
  const { store } = parts;

  app.post("/v1/prune", PRUNE, limitBody(MAX_BODY_BYTES), async (c) => {
    const { dryRun = false, sinceMs, ...periods } = await bodyOf(c, ["dryRun", "completed", "failed", "sinceMs"]);
    if (typeof dryRun !== "boolean") throw new HoldfastError("BODY_INVALID", "`dryRun` must be true or false.");
    if (sinceMs !== undefined && typeof sinceMs !== "number") {
      throw new HoldfastError("BODY_INVALID", "`sinceMs` must be the number that an answer has.");
    }
    const environment: string = c.get("environment");
    const policy = await policyFor(parts, environment, overrideOf(periods));
    if (dryRun) return answerJson(c, await store.previewPrune(policy, environment));
    const since = sinceMs ?? (await store.nowMs());
    return answerJson(c, { ...(await store.prune(policy, { limitMs: PIECE_MS, sinceMs: since })), sinceMs: since });
  });

  app.put("/v1/runs/:id/hold", HOLD, limitBody(MAX_BODY_BYTES), async (c) => {
    const id = c.req.param("id");
    const { reason = "" } = await bodyOf(c, ["reason"]);
    if (typeof reason !== "string" || reason.length > MAX_REASON || reason.includes("\0")) {
      throw new HoldfastError(
        "BODY_INVALID",
        `\`reason\` must be text of at most ${MAX_REASON} characters, without NUL.`,
      );
    }
    await runOr404(c, id, (runId) => store.getRun(runId));
    const hold = await store.holdRun(id, reason);
    if (!hold) throw notFound(`There is no run ${id}.`);
    return answerJson(c, { ...hold, heldAt: isoTime(hold.heldMs) });
  });

  app.delete("/v1/runs/:id/hold", RELEASE, async (c) => {
    const id = c.req.param("id");
    await runOr404(c, id, (runId) => store.getRun(runId));
    return answerJson(c, { released: await store.releaseHold(id) });
  });
}

async function policyFor(
  { retention, dispatcher }: HttpParts,
  environment: string,
  override: PeriodOverride,
): Promise<RetentionPolicy> {
  const policy = await retention();
  if (Object.keys(override).length === 0) return policy;
  const functions = [...dispatcher.functions.all()];
  const own = functions.filter((fn) => fn.environment === environment);
  return overridden(policy, override, { own: own.map(({ id }) => id), all: own.length === functions.length });
}

function overrideOf({ completed, failed }: Readonly<Record<string, unknown>>): PeriodOverride {
  return {
    ...(completed === undefined ? {} : { completedMs: periodOf(completed, "completed") }),
    ...(failed === undefined ? {} : { failedMs: periodOf(failed, "failed") }),
  };
}

function periodOf(value: unknown, name: string): number | null {
  if (value === "off") return null;
  if (typeof value !== "string" && typeof value !== "number") {
    throw new HoldfastError("BODY_INVALID", `\`${name}\` must be a duration such as "7d", or "off".`);
  }
  return parseDurationMs(value, `\`${name}\``, { minMs: 1_000, maxMs: MAX_PERIOD_MS });
}
