/** Routes that run a run again, fork it from a step, let it go on, and delete it. */
import { HoldfastError } from "@holdfast/core";
import { jsonText } from "@holdfast/engine";
import { WIRE_LIMITS } from "@holdfast/protocol";
import type { RunDetail } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type, { type TSchema } from "typebox";

import { limitBody } from "./bodies.ts";
import { bodyOf } from "./body-fields.ts";
import { forkResult } from "./fork-result.ts";
import { answerJson } from "./json-answer.ts";
import { type BodyDescription, describe } from "./openapi/describe-route.ts";
import { RunSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { switchIn } from "./read-switch.ts";
import { runOr404 } from "./run-or-404.ts";
import { runView } from "./run-view.ts";
import { newRunIdOf, versionOf } from "./wanted-version.ts";

const MAX_BODY_BYTES = 64 * 1024;

const AppVersion = Type.String({
  description: "`newest` (default), `same` as the run had, or a version of the app.",
});
const NewRunId = Type.String({
  description: "A ULID for the new run: if the call is repeated with it, no second run is created.",
});
const json = (schema: TSchema): BodyDescription => ({ contentType: "application/json", schema });
const params = { id: "The run's id." };
const made = Type.Object({ runId: Type.String(), run: RunSchema }, { title: "MadeRun" });

const RERUN = describe({
  operationId: "rerunRun",
  summary: "Creates a new run from the same events.",
  tag: "runs",
  params,
  body: json(Type.Object({ appVersion: Type.Optional(AppVersion), newRunId: Type.Optional(NewRunId) })),
  answers: { 200: made },
  failures: { 404: "There is no such run.", 409: "`RUN_SKIPPED`, `FUNCTION_UNKNOWN`." },
});

const FORK = describe({
  operationId: "forkRun",
  summary: "Creates a new run that keeps the results of the steps before a given one.",
  tag: "runs",
  params,
  body: json(
    Type.Object({
      step: Type.String({
        description: "The step's id as in the code; a repeated id has its number appended: `fetch:2`.",
      }),
      result: Type.Optional(
        Type.Unknown({
          description:
            "The result to use for the step; without it, the step runs again. For a run of a graph: the output of the node, as its status shows it.",
        }),
      ),
      appVersion: Type.Optional(AppVersion),
      newRunId: Type.Optional(NewRunId),
    }),
  ),
  answers: { 200: made },
  failures: {
    400: "`GRAPH_OUTPUT_INVALID`: the node cannot have this output.",
    404: "There is no such run, or no such step in it.",
    409: "`RUN_UNDONE`, `RUN_NOT_ENDED`, `RUN_SKIPPED`, `RUN_TOO_LARGE`, `FUNCTION_UNKNOWN`.",
  },
});

const RESUME = describe({
  operationId: "resumeRun",
  summary: "Resumes a run that failed or was cancelled: finished steps are kept, and what failed gets new attempts.",
  tag: "runs",
  params,
  body: json(Type.Object({ appVersion: Type.Optional(AppVersion) })),
  answers: { 200: made },
  failures: { 404: "There is no such run.", 409: "`RUN_NOT_RESUMABLE`, `RUN_UNDONE`, `FUNCTION_UNKNOWN`." },
});

const DELETE = describe({
  operationId: "deleteRun",
  summary:
    "Deletes a run that has ended, with its log, and the event that started it unless another run uses that event.",
  tag: "runs",
  params,
  query: Type.Object({
    cancel: Type.Optional(Type.String({ description: "`1`: a run that has not ended is cancelled first." })),
  }),
  answers: { 200: Type.Object({ deleted: Type.Literal(true), runId: Type.String() }) },
  failures: { 404: "There is no such run.", 409: "`RUN_NOT_ENDED`, `RUN_ON_HOLD`, `RUN_IN_USE`." },
});

/** What is done with runs after their end. */
export function repairApi(app: Hono, { store, dispatcher }: HttpParts): void {
  const runHere = (c: Context, id: string): Promise<RunDetail> => runOr404(c, id, (runId) => store.getRun(runId));
  const answerMade = async (c: Context, runId: string): Promise<Response> => {
    const { head } = await runHere(c, runId);
    return answerJson(c, { runId, run: runView(head) });
  };

  app.post("/v1/runs/:id/rerun", RERUN, limitBody(MAX_BODY_BYTES), async (c) => {
    const id = c.req.param("id");
    const body = await bodyOf(c, ["appVersion", "newRunId"]);
    await runHere(c, id);
    const runId = await dispatcher.repairs.rerun(id, { version: versionOf(body), ...newRunIdOf(body) });
    return answerMade(c, runId);
  });

  app.post("/v1/runs/:id/fork", FORK, limitBody(WIRE_LIMITS.maxOutputBytes + MAX_BODY_BYTES), async (c) => {
    const id = c.req.param("id");
    const body = await bodyOf(c, ["step", "result", "appVersion", "newRunId"]);
    const { step } = body;
    if (typeof step !== "string" || step === "") {
      throw new HoldfastError("BODY_INVALID", "`step` must be the id of the step from which the run is to go on.");
    }
    const given = "result" in body ? jsonText(body.result) : null;
    if (given !== null && given.length > WIRE_LIMITS.maxOutputBytes) {
      throw new HoldfastError("BODY_TOO_LARGE", `\`result\` is larger than ${WIRE_LIMITS.maxOutputBytes} bytes.`);
    }
    const detail = await runHere(c, id);
    const resultText = await forkResult(store, detail, step, given);
    const options = { step, resultText, version: versionOf(body), ...newRunIdOf(body) };
    return answerMade(c, await dispatcher.repairs.fork(id, options));
  });

  app.delete("/v1/runs/:id", DELETE, async (c) => {
    const id = c.req.param("id");
    const cancels = switchIn("cancel", c.req.query("cancel"));
    await runHere(c, id);
    await dispatcher.repairs.deletions.delete(id, { cancels });
    return c.json({ deleted: true, runId: id });
  });

  app.post("/v1/runs/:id/resume", RESUME, limitBody(MAX_BODY_BYTES), async (c) => {
    const id = c.req.param("id");
    const body = await bodyOf(c, ["appVersion"]);
    await runHere(c, id);
    await dispatcher.repairs.resume(id, versionOf(body));
    return answerMade(c, id);
  });
}
