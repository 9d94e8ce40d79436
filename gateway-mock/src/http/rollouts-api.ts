/** Routes that say which version of an app new runs begin with (docs/operate.md). */
import { HoldfastError } from "@holdfast/core";
import { type AppRollout, plainName, qualify } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";

import { limitBody } from "./bodies.ts";
import { bodyOf } from "./body-fields.ts";
import { isoTime } from "./iso-time.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

const MAX_BODY_BYTES = 16 * 1024;

const SetRollout = Type.Object({ version: Type.String(), percent: Type.Number(), sinceAt: At, sinceMs: Ms });

const RolloutSchema = Type.Object(
  {
    appId: Type.String(),
    changed: Type.Boolean({ description: "False: nothing changed, because it was already so." }),
    rollout: orNull(SetRollout),
    versions: Type.Array(Type.String(), { description: "The app's versions, newest first." }),
  },
  { title: "Rollout" },
);

const params = { id: "The app's id." };

const PUT = describe({
  operationId: "setRollout",
  summary:
    "Starts a given percentage of an app's new runs with one version, and the others with the newest other version.",
  description:
    "The version that a run starts with follows from its id, so it is the same at every gateway. Runs that have already started, and runs that were requested for a version, are not affected.",
  tag: "functions",
  params,
  body: {
    contentType: "application/json",
    schema: Type.Object({
      version: Type.String(),
      percent: Type.Number({ minimum: 0, maximum: 100 }),
    }),
  },
  answers: { 200: RolloutSchema },
  failures: { 400: "No deployment of the app has the version.", 404: "No such app has connected." },
});

const GET = describe({
  operationId: "getRollout",
  summary: "Shows the rollout of an app: the version, and the percentage of new runs that start with it.",
  tag: "functions",
  params,
  answers: {
    200: Type.Object({ appId: Type.String(), rollout: orNull(SetRollout) }, { title: "AppRollout" }),
  },
});

const DELETE = describe({
  operationId: "removeRollout",
  summary: "Ends a rollout: all new runs of the app start with its newest version again.",
  tag: "functions",
  params,
  answers: { 200: RolloutSchema },
  failures: { 404: "No such app has connected." },
});

export function rolloutsApi(app: Hono, { dispatcher }: HttpParts): void {
  const set = async (c: Context, rollout: { version: string; percent: number } | null): Promise<Response> => {
    const name = c.req.param("id") ?? "";
    const { appId, rollout: now, ...rest } = await dispatcher.controls.setRollout(c.get("environment"), name, rollout);
    return c.json({ appId: plainName(appId), ...rest, rollout: rolloutView(now) });
  };

  app.get("/v1/apps/:id/rollout", GET, async (c) => {
    const { functions } = dispatcher;
    await functions.renewIfChanged();
    const appId = c.req.param("id");
    return c.json({ appId, rollout: rolloutView(functions.controls.rolloutOf(qualify(c.get("environment"), appId))) });
  });

  app.put("/v1/apps/:id/rollout", PUT, limitBody(MAX_BODY_BYTES), async (c) => {
    const { version, percent } = await bodyOf(c, ["version", "percent"]);
    if (typeof version !== "string" || version === "") {
      throw new HoldfastError("BODY_INVALID", "`version` must be a version of the app.");
    }
    if (typeof percent !== "number" || !(percent >= 0 && percent <= 100)) {
      throw new HoldfastError("BODY_INVALID", "`percent` must be a number from 0 to 100.");
    }
    return set(c, { version, percent });
  });

  app.delete("/v1/apps/:id/rollout", DELETE, (c) => set(c, null));
}

function rolloutView(rollout: AppRollout | null): object | null {
  if (!rollout) return null;
  const { version, percent, sinceMs } = rollout;
  return { version, percent, sinceAt: isoTime(sinceMs), sinceMs };
}
