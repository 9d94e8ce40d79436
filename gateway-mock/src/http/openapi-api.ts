/** The route that serves the OpenAPI document of all routes, this one among them. */
import type { Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi/document.ts";

/** Call it whenever: the document is made of the routes that there are when it is first asked for. */
export function openApiApi(app: Hono, version: string): void {
  let document: OpenApiDocument | undefined;
  const described = describe({
    operationId: "getOpenApi",
    summary: "This description of all routes, as OpenAPI 3.1.",
    tag: "gateway",
    answers: { 200: Type.Object({ openapi: Type.String() }, { additionalProperties: true }) },
  });
  app.get("/v1/openapi.json", described, (c) => {
    document ??= openApiDocument(app.routes, version);
    return c.json(document);
  });
}
