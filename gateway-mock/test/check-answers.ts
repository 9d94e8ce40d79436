/**
 * Runs before each file of real tests: every JSON answer that a test gets by `fetch` is held against the OpenAPI
 * document. An answer that is not as described fails the test that has got it.
 */
import { afterEach, expect } from "vitest";
import { openApiDocument } from "../src/http/openapi/document.ts";
import { routeTable } from "./http/route-table.ts";
import { AnswerChecks } from "./openapi-checks.ts";

let checks: AnswerChecks | undefined;
const problems: string[] = [];
const plainFetch = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const response = await plainFetch(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const contentType = response.headers.get("content-type");
  if (!/^(localhost|127\.|\[::1\])/.test(url.hostname) || !contentType?.startsWith("application/json")) return response;
  checks ??= new AnswerChecks(openApiDocument(routeTable().app.routes, "0"));
  const method = (init?.method ?? "GET").toUpperCase();
  const text = await response.clone().text();
  const problem = checks.problemOf({ method, path: url.pathname, status: response.status, contentType, text });
  if (problem !== null) problems.push(problem);
  return response;
};

afterEach(() => {
  expect(problems.splice(0)).toEqual([]);
});
