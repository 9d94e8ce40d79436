/** The route that moves time on, of gateways with virtual time. */
import { HoldfastError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { Hono } from "hono";
import Type from "typebox";
import { limitBody } from "./bodies.ts";
import { describe } from "./openapi/describe-route.ts";

export function testingApi(app: Hono, skipTime: (ms: number) => Promise<void>): void {
  const described = describe({
    operationId: "skipTime",
    summary: "Advances time for everything that is stored.",
    tag: "testing",
    body: { contentType: "application/json", schema: Type.Object({ ms: Type.Number({ minimum: 0 }) }) },
    answers: { 200: Type.Object({ skippedMs: Type.Number() }) },
  });
  app.post("/v1/testing/skip-time", described, limitBody(1024), async (c) => {
    const body: unknown = await c.req.json().catch(() => null);
    const ms = isRecord(body) ? body.ms : undefined;
    if (typeof ms !== "number") throw new HoldfastError("BODY_INVALID", 'The body must be { "ms": <number> }.');
    await skipTime(ms);
    return c.json({ skippedMs: ms });
  });
}
