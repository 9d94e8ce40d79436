/** Routes from which workers fetch the state of a run that is too large for a request. */
import { eventsText, foldRun, type RunState, stepsText } from "@holdfast/engine";
import { RUNS_PATH } from "@holdfast/protocol";
import type { Context, Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";

/**
 * What workers fetch for a request that was too large to carry it (`ctx.use_api`). Any gateway can answer: it reads the
 * store.
 */
export function runStateApi(app: Hono, { store }: HttpParts): void {
  const answer = (textOf: (state: RunState) => string) => async (c: Context) => {
    const runId = c.req.param("runId") ?? "";
    const stored = await runOr404(c, runId, async (id) => (await store.loadRuns([id]))[0]);
    return c.body(textOf(foldRun(stored)), 200, { "Content-Type": "application/json" });
  };
  const shared = { tag: "worker protocol", params: { runId: "The run's id." } } as const;
  const actions = describe({
    ...shared,
    operationId: "getRunActions",
    summary: "The finished steps of a run that is too large for one request.",
    answers: { 200: Type.Object({}, { additionalProperties: true, description: "Results by hashed step id." }) },
  });
  const batch = describe({
    ...shared,
    operationId: "getRunEvents",
    summary: "The events of a run that is too large for one request.",
    answers: { 200: Type.Array(Type.Object({}, { additionalProperties: true })) },
  });
  app.get(`${RUNS_PATH}/:runId/actions`, actions, answer(stepsText));
  app.get(`${RUNS_PATH}/:runId/batch`, batch, answer(eventsText));
}
