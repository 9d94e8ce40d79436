/** The route that sends a signal to the step waiting for it. */
import { HoldfastError } from "@holdfast/core";
import { isStorableName, jsonText } from "@holdfast/engine";
import { isRecord, jsonNestsDeeperThan, WIRE_LIMITS } from "@holdfast/protocol";
import type { Hono } from "hono";
import Type from "typebox";

import { checkAnswer } from "./approval-answer.ts";
import { limitBody } from "./bodies.ts";
import { notFound } from "./errors.ts";
import { readJsonBody } from "./json-body.ts";
import { describe } from "./openapi/describe-route.ts";
import { Json } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

/** Signals: each goes to the one step that waits for it. */
export function signalsApi(app: Hono, { store, dispatcher }: HttpParts): void {
  const described = describe({
    operationId: "sendSignal",
    summary: "Sends a signal to the step that waits for it.",
    description:
      "Signals are not kept: one that arrives before its step waits, or after the wait has ended, is lost, and the answer is 404. A step, or a node of a graph, is `running` for a moment before its wait is stored; once it is stored, `waiting` of its run names the signal.",
    tag: "events",
    body: {
      contentType: "application/json",
      schema: Type.Object({ signal: Type.String(), data: Type.Optional(Json) }, { title: "Signal" }),
    },
    answers: {
      200: Type.Object({ data: Type.Object({ run_id: Type.String({ description: "Whose step it was." }) }) }),
    },
    failures: {
      400: "`GRAPH_ANSWER_INVALID`: an approval of a graph waits for it, and the data is neither an approval nor a rejection.",
      404: "`NOT_FOUND`: no run waits for it now. The signal was not kept, and ended no wait.",
    },
  });
  app.post("/v1/signals", described, limitBody(WIRE_LIMITS.maxEventBytes), async (c) => {
    const body = await readJsonBody(new Uint8Array(await c.req.arrayBuffer()));
    if (!isRecord(body) || typeof body.signal !== "string" || body.signal === "") {
      throw new HoldfastError("BODY_INVALID", "`signal` must be a non-empty string.");
    }
    // No step can wait for such a one.
    if (!isStorableName(body.signal, WIRE_LIMITS.maxSignalLength)) {
      const problem = `must have at most ${WIRE_LIMITS.maxSignalLength} characters, no NUL, and no half of a surrogate pair`;
      throw new HoldfastError("BODY_INVALID", `\`signal\` ${problem}.`);
    }
    const environment = c.get("environment");
    const dataText = jsonText(body.data);
    // A run that got it could not be given to a worker.
    if (jsonNestsDeeperThan(dataText, WIRE_LIMITS.maxDataDepth)) {
      throw new HoldfastError("BODY_INVALID", `\`data\` nests deeper than ${WIRE_LIMITS.maxDataDepth} levels.`);
    }
    await checkAnswer(store, { environment, signal: body.signal, dataText });
    const taker = await dispatcher.sendSignal(environment, body.signal, dataText);
    if (!taker) throw notFound(noWaiter(body.signal));
    return c.json({ data: { run_id: taker.runId } });
  });
}

const noWaiter = (signal: string): string =>
  `No run waits for the signal "${signal}" now. It was not kept: send it again once a step waits for it, which \`waiting\` of GET /v1/runs/:id says.`;
