import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { openApiDocument, undescribedRoutes } from "../../../src/http/openapi/document.ts";
import { AnswerChecks } from "../../openapi-checks.ts";
import { routeTable } from "../route-table.ts";

const { app } = routeTable();
const document = openApiDocument(app.routes, "0");

test("every route of a gateway is described", () => {
  expect(undescribedRoutes(app.routes)).toEqual([]);
  const { app: planted } = routeTable(undefined, {}, (one) => void one.get("/v1/new", (c) => c.text("")));
  expect(undescribedRoutes(planted.routes)).toEqual(["GET /v1/new"]);
});

test("the document is a valid OpenAPI document", async () => {
  expect(await new Validator().validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
});

test("each operation has an id of its own, each parameter of a path is described", () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods)) as {
    readonly operationId: string;
    readonly parameters?: readonly { readonly in: string; readonly name: string; readonly description?: string }[];
  }[];
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const bare = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .filter(({ description, in: where }) => where === "path" && !description)
      .map(({ name }) => [operationId, name]),
  );
  expect(bare).toEqual([]);
});

test("only what needs no signing key says so", () => {
  const open = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { readonly security: readonly object[] }>)
      .filter(([, { security }]) => security.length === 0)
      .map(([method]) => `${method} ${path}`),
  );
  expect(open).toEqual([
    "post /e/{key}",
    "get /health",
    "get /ready",
    "get /ui/session",
    "post /ui/session",
    "delete /ui/session",
  ]);
});

test("an answer that is not as described is found", () => {
  const checks = new AnswerChecks(document);
  const problem = (path: string, status: number, body: unknown): string | null =>
    checks.problemOf({ method: "GET", path, status, contentType: "application/json", text: JSON.stringify(body) });
  expect(problem("/ready", 200, { ready: true })).toBeNull();
  expect(problem("/ready", 200, { ready: 1 })).toMatch("must be boolean");
  expect(problem("/ready", 200, { ready: true, more: 1 })).toMatch("must NOT have additional properties");
  expect(problem("/ready", 201, { ready: true })).toMatch("not described");
  expect(problem("/v1/runs", 400, { error: "x", code: "Y", status: 400 })).toBeNull();
  expect(problem("/v1/runs", 400, { error: "x" })).toMatch("required property 'code'");
  expect(problem("/v1/runs", 200, { runs: [{ id: "a" }], nextCursor: null })).toMatch("functionId");
});

test("a query parameter that a route does not have is refused with the name that comes close", async () => {
  const answer = await app.request("/v1/runs?stauts=FAILED", { headers: { Host: "localhost" } });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    code: "BODY_INVALID",
    error: expect.stringContaining("Did you mean `status`?"),
  });
});
