import { RUNS_PATH } from "@holdfast/protocol";
import type { Context, Hono } from "hono";
import { eventsText, foldRun, type RunState, stepsText } from "../engine/index.ts";
import { environmentOf } from "../store/index.ts";
import { notFound } from "./errors.ts";
import type { HttpParts } from "./parts.ts";

/** What workers fetch for a request that was too large to carry it (`ctx.use_api`). Any gateway can tell: it asks the store. */
export function runStateApi(app: Hono, { store }: HttpParts): void {
  const answer = (textOf: (state: RunState) => string) => async (c: Context) => {
    const runId = c.req.param("runId") ?? "";
    const [stored] = await store.loadRuns([runId]);
    if (!stored || environmentOf(stored.head.functionId) !== c.get("environment"))
      throw notFound(`There is no run ${runId}.`);
    return c.body(textOf(foldRun(stored)), 200, { "Content-Type": "application/json" });
  };
  app.get(`${RUNS_PATH}/:runId/actions`, answer(stepsText));
  app.get(`${RUNS_PATH}/:runId/batch`, answer(eventsText));
}
