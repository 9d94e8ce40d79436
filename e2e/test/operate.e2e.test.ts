import { startGateway } from "@holdfast/gateway";
import { createDatabase } from "@holdfast/testing";
import { Holdfast, HoldfastError } from "holdfast";
import { HoldfastClient } from "holdfast/client";
import { type BulkJob, operate } from "holdfast/operate";
import { expect, inject, onTestFinished, test } from "vitest";

/** What people change while everything runs, from code: pauses, drains, rollouts, many runs at once. */

const SIGNING_KEY = "0123456789abcdef".repeat(2);

async function world() {
  const db = await createDatabase(inject("postgresUrl"));
  onTestFinished(() => db.drop());
  const gateway = await startGateway({ port: 0, databaseUrl: db.url, signingKey: SIGNING_KEY });
  onTestFinished(() => gateway.close());
  const options = { isDev: true, baseUrl: gateway.url, signingKey: SIGNING_KEY };
  const app = new Holdfast({ id: "shop", appVersion: "1.0", ...options });
  let isFixed = false;
  const order = app.createFunction({ id: "order", retries: 0 }, async ({ step }) => {
    await step.run("charge", () => {
      if (!isFixed) throw new Error("the bank is down");
      return 1;
    });
    return "done";
  });
  const undoes = app.createFunction({ id: "undoes", retries: 0 }, async ({ step }) => {
    await step.run("reserve", () => 1, {
      retries: 0,
      compensate: () => {
        if (!isFixed) throw new Error("cannot be undone");
      },
    });
    throw new Error("no");
  });
  const connection = await app.connect({
    functions: [order, undoes],
    instanceId: "web-1",
    handleShutdownSignals: [],
  });
  onTestFinished(() => connection.close());
  const fix = (): void => {
    isFixed = true;
  };
  return { app, order, undoes, gateway, options, fix };
}

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "nothing was thrown",
    (error: unknown) => (HoldfastError.is(error) ? error.code : error),
  );

test("a function is paused and resumed from code, and its runs say why they wait", async () => {
  const { app, order, options } = await world();
  // Any client of the environment will do.
  const { functions } = operate(new HoldfastClient({ id: "ops", ...options }));
  expect(await functions.get(order)).toMatchObject({ id: "shop-order", paused: false, pause: null, triggers: [] });
  expect(await functions.pause("shop-order", { note: "the bank is down" })).toMatchObject({
    functionId: "shop-order",
    changed: true,
    pause: { note: "the bank is down", sinceAt: expect.stringMatching(/Z$/) },
  });
  const run = await app.invoke(order);
  expect((await app.runs.get(run.id))?.waiting).toMatchObject({
    reason: "FUNCTION_PAUSED",
    message: expect.stringContaining("the bank is down"),
  });
  expect((await functions.list()).map(({ id, paused }) => [id, paused])).toEqual([
    ["shop-order", true],
    ["shop-undoes", false],
  ]);
  expect(await operate(app).functions.resume(order)).toMatchObject({ changed: true, pause: null });
  await expect(run.result()).rejects.toThrow("the bank is down");
});

test("a worker is drained and resumed by its instance id, and is listed with what it serves", async () => {
  const { app } = await world();
  const { workers } = operate(app);
  expect(await workers.list()).toMatchObject([{ instanceId: "web-1", apps: ["shop@1.0"], drained: false }]);
  expect(await workers.drain("web-1")).toMatchObject({ instanceId: "web-1", drained: true, changed: true });
  expect(await workers.list()).toMatchObject([{ instanceId: "web-1", status: "DRAINING" }]);
  expect(await workers.resume("web-1")).toMatchObject({ drained: false, changed: true });
});

test("a version is rolled out in percent and back, and one that there is not is refused in words", async () => {
  const { app } = await world();
  const { rollouts } = operate(app);
  expect(await rollouts.set("1.0", { percent: 10 })).toMatchObject({ rollout: { version: "1.0", percent: 10 } });
  const refused = await rollouts.set("9.9").catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "OPTION_INVALID", message: expect.stringContaining("it has 1.0") });
  expect(await rollouts.end()).toMatchObject({ appId: "shop", rollout: null, changed: true });
});

test("failed runs are counted, resumed and run again in bulk, with progress", async () => {
  const { app, order, fix } = await world();
  const { bulk } = operate(app);
  const runs = await Promise.all([1, 2, 3].map(() => app.invoke(order)));
  await Promise.all(runs.map((run) => run.result().catch(() => {})));
  const filter = { functionId: "order" };
  expect(await bulk.count("resume", filter)).toMatchObject({ count: 3, isMore: false });
  fix();
  const seen: BulkJob[] = [];
  const resumed = await bulk.resume(filter);
  const job = await resumed.result({ timeout: "60s", onProgress: (each) => seen.push(each) });
  expect(job).toMatchObject({ status: "DONE", action: "resume", total: 3, done: 3, failed: 0 });
  expect(seen.at(-1)).toEqual(job);
  expect(await Promise.all(runs.map((run) => app.runs.handle(run.id).result()))).toEqual(["done", "done", "done"]);
  const again = await bulk.rerun({ ...filter, status: "COMPLETED" });
  expect(await again.result()).toMatchObject({ done: 3 });
  expect(await again.stop()).toBe(false);
  expect((await bulk.list()).map(({ action }) => action)).toEqual(["rerun", "resume"]);
  expect((await app.runs.list({ functionId: "order" })).runs).toHaveLength(6);
});

test("what could not be undone is tried again, and a run is kept and released", async () => {
  const { app, undoes, fix } = await world();
  const run = await app.invoke(undoes);
  await run.result().catch(() => {});
  fix();
  expect(await app.runs.retryCompensations(run.id)).toBe(true);
  await app.runs
    .handle(run.id)
    .result()
    .catch(() => {});
  expect(await app.runs.retryCompensations(run.id)).toBe(false);
  await app.runs.hold(run.id, "claim 4711");
  await expect(app.runs.delete(run.id)).rejects.toThrow("on hold");
  expect(await app.runs.release(run.id)).toBe(true);
  expect(await app.runs.release(run.id)).toBe(false);
  expect(await app.runs.delete(run.id)).toBe(true);
});

test("names that there are not, wrong keys and absent gateways have codes of their own", async () => {
  const { app, options } = await world();
  const { functions, workers, bulk } = operate(app);
  expect(await codeOf(functions.pause("ordr"))).toBe("NOT_FOUND");
  expect(await functions.get("ordr")).toBeUndefined();
  expect(await codeOf(workers.drain("web-2"))).toBe("NOT_FOUND");
  expect(await codeOf(bulk.cancel({}))).toBe("BODY_INVALID");
  expect(await codeOf(bulk.cancel({ functionId: "ordr" }))).toBe("NOT_FOUND");
  expect(await codeOf(bulk.handle("01JZ6Q4WJ2M6W9S0V7K3N8T5YB").status())).toBe("NOT_FOUND");
  const stranger = new HoldfastClient({ id: "x", ...options, signingKey: "f".repeat(32) });
  expect(await codeOf(operate(stranger).functions.list())).toBe("UNAUTHORIZED");
  const lost = new HoldfastClient({ id: "x", isDev: true, baseUrl: "http://127.0.0.1:9" });
  expect(await codeOf(operate(lost).functions.list())).toBe("GATEWAY_UNREACHABLE");
});
