import { expect, test } from "vitest";
import { call, useGateway } from "../server/harness.ts";
import { graphOf } from "../server/small-graph.ts";

const bench = useGateway();

test("a draft is shown with its problems to callers that ask for them, as it was stored with them", async () => {
  const gateway = await bench.gateway();
  const put = (graph: object) => call(gateway, "/v1/graphs/a", { method: "PUT", body: JSON.stringify({ graph }) });
  const broken = graphOf("a", { edges: [{ from: "start", to: "gone" }] });
  const { problems } = (await put(broken)) as { problems: { code: string }[] };
  expect(problems.map(({ code }) => code)).toContain("EDGE_DANGLING");
  expect(await call(gateway, "/v1/graphs/a?problems=1")).toMatchObject({ revision: 1, graph: broken, problems });
  expect(await call(gateway, "/v1/graphs/a")).not.toHaveProperty("problems");
  expect(await call(gateway, "/v1/graphs/a?problems=yes")).toMatchObject({ code: "BODY_INVALID" });
  await put(graphOf("a"));
  expect(await call(gateway, "/v1/graphs/a?problems=1")).toMatchObject({ revision: 2, problems: [] });
  await call(gateway, "/v1/graphs/a/publish", { method: "POST" });
  expect(await call(gateway, "/v1/graphs/a?version=1&problems=1")).not.toHaveProperty("problems");
});
