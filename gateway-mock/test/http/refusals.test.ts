import { expect, test } from "vitest";
import { call, useGateway } from "../server/harness.ts";

const bench = useGateway();
const RUN = "01JZ0000000000000000000000";

test("a body that is no JSON is refused in the same way wherever one is read", async () => {
  const gateway = await bench.gateway();
  for (const path of [
    "/e/key",
    "/v1/functions/shop-order/runs",
    `/v1/runs/${RUN}/rerun`,
    `/v1/runs/${RUN}/fork`,
    `/v1/runs/${RUN}/resume`,
    "/v1/bulk",
    "/v1/graphs/onboarding/runs",
    "/v1/signals",
    "/v1/functions/shop-order/pause",
  ]) {
    // Also what is read in turns.
    const long = /\/(key|runs)$/.test(path) ? [`{"a":"${"x".repeat(70_000)}",}`] : [];
    for (const body of ['{"a":', ...long]) {
      const answer = await call(gateway, path, { method: "POST", body });
      expect([path, answer]).toMatchObject([path, { code: "BODY_INVALID", status: 400 }]);
    }
  }
});

test("a NUL in a query or a path is refused, and what has it is named", async () => {
  const gateway = await bench.gateway();
  for (const [path, said] of [
    ["/v1/events?name=%00", "The query parameter `name` has a NUL character (%00), which nothing here can have."],
    ["/v1/runs?limit=5&function=shop%00order", /^The query parameter `function` has a NUL/],
    ["/v1/runs?a%00b=1", /^The name of a query parameter has a NUL/],
    ["/v1/events/a%00b", 'The path has a NUL character (%00) in "a%00b", which nothing here can have.'],
    ["/nowhere/%00", /^The path has a NUL/],
  ] as const) {
    expect([path, await call(gateway, path)]).toMatchObject([
      path,
      { code: "BODY_INVALID", status: 400, error: typeof said === "string" ? said : expect.stringMatching(said) },
    ]);
  }
});

test("a NUL in a body or in a cursor is refused as what it is in", async () => {
  const gateway = await bench.gateway();
  const cursor = Buffer.from(JSON.stringify(["a\0b", "id"])).toString("base64url");
  for (const [method, path, body] of [
    ["PUT", "/v1/runs/01JZ6Q4WJ2M6W9S0V7K3N8T5YB/hold", { reason: "a\0b" }],
    ["POST", "/v1/bulk", { action: "rerun", filter: { all: true }, appVersion: "1\0" }],
    ["GET", `/v1/graphs?cursor=${cursor}`, undefined],
  ] as const) {
    const answer = await call(gateway, path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    expect([path, answer]).toMatchObject([path, { code: "BODY_INVALID", status: 400 }]);
  }
});

test("half a character in what the database is searched for is refused, with where it is", async () => {
  const gateway = await bench.gateway();
  await bench.worker(gateway);
  for (const [path, body, code, said] of [
    [
      "/e/key",
      { name: "shop/order", id: "a\ud83d" },
      "EVENT_INVALID",
      "Event 0: `id` contains half of a surrogate pair",
    ],
    ["/e/key", { name: "shop/\ud83d" }, "EVENT_INVALID", "Event 0: `name` contains half of a surrogate pair"],
    ["/v1/functions/shop-order/runs", { id: "a\ud83d" }, "OPTION_INVALID", "`id` contains half of a surrogate pair"],
    ["/v1/signals", { signal: "a\ud83d" }, "BODY_INVALID", "no half of a surrogate pair"],
    ["/v1/graph-tests", { tenant: "a\ud83d" }, "BODY_INVALID", "`tenant` must be text"],
  ] as const) {
    const answer = await call(gateway, path, { method: "POST", body: JSON.stringify(body) });
    expect([path, answer]).toMatchObject([path, { code, status: 400, error: expect.stringContaining(said) }]);
  }
  const whole = { name: "shop/order", id: "a\ud83d\ude00" };
  expect(await call(gateway, "/e/key", { method: "POST", body: JSON.stringify(whole) })).toMatchObject({ status: 200 });
});

test("a query parameter that a route does not have, or a value that it does not know, is refused", async () => {
  const gateway = await bench.gateway();
  expect(await call(gateway, "/v1/functions?bogus=1")).toMatchObject({
    error: "There is no query parameter `bogus`. This route takes none.",
    code: "BODY_INVALID",
  });
  for (const path of ["/v1/bulk", "/v1/workers", "/v1/limits", "/v1/schedules"]) {
    expect(await call(gateway, path)).not.toHaveProperty("code");
    expect([path, await call(gateway, `${path}?status=done`)]).toMatchObject([path, { code: "BODY_INVALID" }]);
  }
  for (const path of [
    "/v1/bulk?dryRun=1",
    "/v1/workers/w/drain?force=1",
    "/v1/workers/w/resume?x=1",
    `/v1/runs/${RUN}/cancel?why=1`,
  ]) {
    expect([path, await call(gateway, path, { method: "POST" })]).toMatchObject([path, { code: "BODY_INVALID" }]);
  }
  expect(await call(gateway, `/v1/runs/${RUN}?log=maybe`)).toMatchObject({
    error: "`log` must be 1 or 0.",
    code: "BODY_INVALID",
  });
  expect(await call(gateway, `/v1/runs/${RUN}?cancel=yes`, { method: "DELETE" })).toMatchObject({
    error: "`cancel` must be 1 or 0.",
    code: "BODY_INVALID",
  });
  expect(await call(gateway, `/v1/runs/${RUN}?log=0`)).toMatchObject({ code: "NOT_FOUND" });
});

test("a method that a path does not have is refused with those that it has", async () => {
  const gateway = await bench.gateway();
  for (const [method, path, allowed] of [
    ["DELETE", "/v1/runs", "GET, HEAD"],
    ["PUT", `/v1/runs/${RUN}`, "DELETE, GET, HEAD"],
    ["GET", "/e/key", "POST"],
    ["GET", `/v1/runs/${RUN}/cancel`, "POST"],
    ["POST", "/health", "GET, HEAD"],
  ] as const) {
    const answer = await fetch(`${gateway.url}${path}`, { method });
    expect([path, answer.status, answer.headers.get("allow")]).toEqual([path, 405, allowed]);
    expect(await answer.json()).toMatchObject({
      code: "METHOD_NOT_ALLOWED",
      status: 405,
      error: `${path} does not take ${method}; it takes ${allowed}.`,
    });
  }
  expect(await call(gateway, "/v1/nothing", { method: "DELETE" })).toMatchObject({ code: "NOT_FOUND", status: 404 });
});

test("`again` outside of the filter is refused, and the fields of the filter name it", async () => {
  const gateway = await bench.gateway();
  const bulk = (body: object): Promise<unknown> =>
    call(gateway, "/v1/bulk", { method: "POST", body: JSON.stringify({ action: "rerun", ...body }) });
  expect(await bulk({ filter: { all: true }, again: true })).toMatchObject({
    code: "BODY_INVALID",
    error: expect.stringContaining("`again` is a field of `filter`"),
  });
  expect(await bulk({ filter: { odd: 1 } })).toMatchObject({
    error: expect.stringMatching(/it may have .*, again\.$/),
  });
  expect(await bulk({ filter: { all: true, again: true }, dryRun: true })).toMatchObject({ dryRun: true, count: 0 });
});
