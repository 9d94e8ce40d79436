/** Routes that pause and resume functions (docs/operate.md). */
import { HoldfastError } from "@holdfast/core";
import { plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";

import type { PausedFunction } from "../dispatch/index.ts";
import { limitBody } from "./bodies.ts";
import { bodyOf } from "./body-fields.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";
import { PauseSchema, pauseView } from "./pause-view.ts";

const MAX_BODY_BYTES = 16 * 1024;
const MAX_NOTE = 500;

const PausedSchema = Type.Object(
  {
    functionId: Type.String(),
    changed: Type.Boolean({ description: "False: nothing changed, because it was already so." }),
    pause: PauseSchema,
  },
  { title: "PausedFunction" },
);

const params = { id: "The function: `<app>-<function>`, its uuid, or its own id where only one app has it." };
const failures = { 404: "There is no such function; the message names similar ones." };

const PAUSE = describe({
  operationId: "pauseFunction",
  summary: "Pauses a function: none of its work is handed out until it is resumed.",
  description:
    "Once this has been answered, no gateway gives work of the function to a worker. Passes that workers already have run to their end. Events still start runs, which then wait.",
  tag: "functions",
  params,
  body: {
    contentType: "application/json",
    schema: Type.Object({
      note: Type.Optional(
        Type.String({ maxLength: MAX_NOTE, description: "The reason; it is shown for runs that wait." }),
      ),
    }),
  },
  answers: { 200: PausedSchema },
  failures,
});

const RESUME = describe({
  operationId: "resumeFunction",
  summary: "Resumes a paused function: its work is handed out again.",
  tag: "functions",
  params,
  answers: { 200: PausedSchema },
  failures,
});

export function pausesApi(app: Hono, { dispatcher }: HttpParts): void {
  app.post("/v1/functions/:id/pause", PAUSE, limitBody(MAX_BODY_BYTES), async (c) => {
    const { note = null } = await bodyOf(c, ["note"]);
    if (note !== null && (typeof note !== "string" || note.length > MAX_NOTE || note.includes("\0"))) {
      throw new HoldfastError("BODY_INVALID", `\`note\` must be text of at most ${MAX_NOTE} characters, without NUL.`);
    }
    const given = note?.trim() === "" ? null : note;
    return c.json(pausedView(await dispatcher.controls.pauseFunction(c.get("environment"), c.req.param("id"), given)));
  });

  app.post("/v1/functions/:id/resume", RESUME, async (c) =>
    c.json(pausedView(await dispatcher.controls.resumeFunction(c.get("environment"), c.req.param("id")))),
  );
}

function pausedView({ functionId, pause, changed }: PausedFunction): object {
  return {
    functionId: plainName(functionId),
    changed,
    pause: pauseView(pause),
  };
}
