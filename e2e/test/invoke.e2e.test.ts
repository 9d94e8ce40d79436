import { type Gateway, startGateway } from "@holdfast/gateway";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import {
  type Connection,
  Holdfast,
  HoldfastError,
  NonRetriableError,
  RunDeadlineError,
  RunNotStartedError,
} from "holdfast";
import { HoldfastClient } from "holdfast/client";
import { afterEach, expect, inject, test } from "vitest";
import { startBalancer } from "../support/balancer.mjs";
import { startGateway as startProcess } from "../support/gateway.mjs";

/** Runs that are started by name and waited for, as code of users does. */

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

async function database(): Promise<TestDatabase> {
  const db = await createDatabase(inject("postgresUrl"));
  cleanUps.push(() => db.drop());
  return db;
}

class OutOfStock extends Error {
  readonly item = "cup";
  override name = "OutOfStock";
}

function functionsOf(app: Holdfast) {
  const order = app.createFunction(
    { id: "order", triggers: { event: "shop/order" }, retries: 0 },
    async ({ event, step }) => {
      const paid = await step.run("pay", () => ({ at: new Date(0), item: event.data.item as string }));
      return { paid, n: 7 };
    },
  );
  const fails = app.createFunction({ id: "fails", triggers: [], retries: 0 }, () => {
    throw new OutOfStock("no cup left", { cause: new NonRetriableError("supplier is closed") });
  });
  const sleeps = app.createFunction({ id: "sleeps", triggers: [] }, async ({ step }) => {
    await step.sleep("long", "1h");
  });
  const single = app.createFunction({ id: "single", triggers: [], singleton: { mode: "skip" } }, async ({ step }) => {
    await step.sleep("long", "1h");
  });
  const bounced = app.createFunction({ id: "bounced", triggers: [], debounce: { period: "1h" } }, () => 1);
  return { order, fails, sleeps, single, bounced };
}

async function inApp(): Promise<{ app: Holdfast; fns: ReturnType<typeof functionsOf>; gateway: Gateway }> {
  const db = await database();
  const gateway = await startGateway({ port: 0, databaseUrl: db.url, virtualTime: true });
  cleanUps.push(() => gateway.close());
  const app = new Holdfast({ id: "shop", baseUrl: gateway.url, isDev: true });
  const fns = functionsOf(app);
  const connection: Connection = await app.connect({ functions: Object.values(fns), handleShutdownSignals: [] });
  cleanUps.push(() => connection.close());
  return { app, fns, gateway };
}

const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );

test("a run says which of its steps has been running for a while, until that ends", async () => {
  const db = await database();
  const gateway = await startGateway({ port: 0, databaseUrl: db.url });
  cleanUps.push(() => gateway.close());
  const app = new Holdfast({ id: "shop", baseUrl: gateway.url, isDev: true });
  const ends = new Map<string, (result: string) => void>();
  const body = (name: string) => (): Promise<string> => new Promise((resolve) => ends.set(name, resolve));
  const slow = app.createFunction({ id: "slow", triggers: [] }, async ({ step }) => [
    await step.run("load", () => "loaded"),
    await step.run("pay", body("pay")),
    await step.run("pack", body("pack")),
  ]);
  const connection = await app.connect({ functions: [slow], handleShutdownSignals: [] });
  cleanUps.push(() => connection.close());
  const run = await app.invoke(slow);
  const reason = (name: string): Promise<string> =>
    waitFor(
      async () => {
        const waiting = (await app.runs.get(run.id))?.waiting;
        return waiting?.step === name ? waiting.message : undefined;
      },
      { what: `the run to be in the step ${name}` },
    );
  const during = (name: string): RegExp =>
    new RegExp(`^It is at work on worker ".+" for .+, in the step \`${name}\` for`);
  expect(await reason("pay")).toMatch(during("pay"));
  ends.get("pay")?.("paid");
  expect(await reason("pack")).toMatch(during("pack"));
  ends.get("pack")?.("packed");
  expect(await run.result()).toEqual(["loaded", "paid", "packed"]);
});

test("a run that is started by name gives its result, typed by the function", async () => {
  const { app, fns } = await inApp();
  const run = await app.invoke(fns.order, { data: { item: "cup" }, id: "order-1" });
  const result = await run.result({ timeout: "60s" });
  // Dates are text by now: this line would not compile otherwise.
  const at: string = result.paid.at;
  expect([at, result.paid.item, result.n]).toEqual(["1970-01-01T00:00:00.000Z", "cup", 7]);
  expect(await run.status()).toBe("COMPLETED");
  expect(run).toMatchObject({ functionId: "shop-order", isNew: true });
  const again = await app.invoke(fns.order, { data: { item: "cup" }, id: "order-1" });
  expect([again.id, again.isNew, await run.cancel()]).toEqual([run.id, false, false]);

  const client = new HoldfastClient({ id: "web", baseUrl: app.options.apiBaseUrl ?? "", isDev: true }, {});
  const named = await client.invoke<typeof fns.order>("shop-order", { data: { item: "plate" } });
  expect((await named.result()).paid.item).toBe("plate");
  expect(await client.runs.handle<typeof fns.order>(run.id).result()).toEqual(result);
  expect(await client.runs.get(run.id)).toMatchObject({ status: "COMPLETED", endedAt: expect.stringMatching(/Z$/) });
  const { runs } = await client.runs.list({
    functionId: "order",
    status: ["COMPLETED", "FAILED"],
    after: new Date(0),
    limit: 1,
  });
  expect(runs.map(({ id }) => id)).toEqual([named.id]);
  const ofKey = await client.runs.list({ key: "order-1" });
  expect(ofKey.runs.map(({ id }) => id)).toEqual([run.id]);
  const kinds: string[] = [];
  for await (const { kind } of run.follow({ from: "start" })) kinds.push(kind);
  expect(kinds).toContain("RUN_COMPLETED");
});

test("a run that fails rejects with the error that its function has thrown", async () => {
  const { app, fns } = await inApp();
  const run = await app.invoke(fns.fails);
  const error = (await caught(run.result())) as Error & { readonly item: string; readonly runId: string };
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: "OutOfStock", message: "no cup left", item: "cup", runId: run.id });
  expect(error.stack).toContain("invoke.e2e.test");
  expect(NonRetriableError.is(error.cause)).toBe(true);
  const idsWith = async (text: string): Promise<string[]> =>
    (await app.runs.list({ error: text })).runs.map(({ id }) => id);
  expect([await idsWith("NO CUP"), await idsWith("no plate")]).toEqual([[run.id], []]);
});

test("a run that is cancelled, too late, or not over in time says which", async () => {
  const { app, fns, gateway } = await inApp();
  const run = await app.invoke(fns.sleeps);
  const slow = (await caught(run.result({ timeout: 50 }))) as HoldfastError;
  expect([slow.code, slow.message]).toEqual(["RUN_RESULT_TIMEOUT", expect.stringContaining(run.id)]);
  const end = new AbortController();
  const stopped = caught(run.result({ signal: end.signal }));
  end.abort(new Error("not wanted"));
  expect(await stopped).toMatchObject({ message: "not wanted" });
  const waiting = caught(run.result());
  expect(await run.cancel()).toBe(true);
  expect(await waiting).toMatchObject({ code: "RUN_CANCELLED" });
  expect(HoldfastError.is(await waiting)).toBe(true);

  const late = await app.invoke(fns.sleeps, { deadline: "30m" });
  await gateway.skipTime(31 * 60_000);
  expect(RunDeadlineError.is(await caught(late.result()))).toBe(true);
  const later = await app.invoke(fns.sleeps, { at: new Date(Date.now() + 86_400_000), appVersion: "" });
  expect(await later.status()).toBe("PENDING");
});

test("a run that its function holds back says by type why", async () => {
  const { app, fns } = await inApp();
  const first = await app.invoke(fns.single);
  const skipped = await caught(app.invoke(fns.single));
  expect(RunNotStartedError.is(skipped) && [skipped.code, skipped.reason, skipped.runId]).toEqual([
    "RUN_SKIPPED",
    "singleton",
    first.id,
  ]);
  const postponed = await caught(app.invoke(fns.bounced));
  expect(RunNotStartedError.is(postponed) && [postponed.code, postponed.reason]).toEqual(["RUN_POSTPONED", "debounce"]);
});

test("what cannot be asked for is refused with what would be right", async () => {
  const { app, fns } = await inApp();
  const refused: readonly (readonly [() => Promise<unknown>, string, string])[] = [
    [() => app.invoke("shop-oder"), "NOT_FOUND", 'Did you mean "shop-order"?'],
    [() => app.invoke(fns.order, { id: "" }), "OPTION_INVALID", "`id`"],
    [() => app.invoke(fns.order, { priority: 7000 }), "OPTION_INVALID", "-600 to 600"],
    [() => app.invoke(fns.order, { at: "tomorrow" }), "OPTION_INVALID", "`at`"],
    [() => app.invoke(fns.order, { deadline: new Date(0) }), "OPTION_INVALID", "has passed"],
    [() => app.invoke(fns.order, { appVersion: "9" }), "OPTION_INVALID", "no version"],
    [() => app.invoke(fns.order, { prio: 1 } as object), "OPTION_INVALID", "no option `prio`"],
    [() => app.invoke(fns.order, { data: { n: 1n } }), "EVENT_INVALID", "not JSON"],
  ];
  for (const [call, code, message] of refused) {
    expect(await caught(call())).toMatchObject({ code, message: expect.stringContaining(message) });
  }
  expect(await app.runs.list()).toEqual({ runs: [] });
});

test("while gateways are killed each id has one run, and all who wait get its result", async () => {
  const db = await database();
  const starts = (port?: number) =>
    startProcess({ databaseUrl: db.url, heartbeat: "1s", retryBase: "50ms", ...(port === undefined ? {} : { port }) });
  const gateways = await Promise.all([starts(), starts()]);
  cleanUps.push(() => Promise.all(gateways.map(({ child }) => child.kill())));
  const balancer = await startBalancer(gateways.map(({ port }) => port));
  cleanUps.push(() => balancer.stop());
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const app = new Holdfast({ id: "shop", baseUrl: balancer.url, isDev: true, logger: quiet });
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ event, step }) => {
    await step.sleep("a while", "300ms");
    return step.run("count", () => event.data.n as number);
  });
  const connection = await app.connect({ functions: [order], handleShutdownSignals: [] });
  cleanUps.push(() => connection.close());
  const asked: Promise<{ readonly id: string; readonly n: number; readonly result: number }>[] = [];
  const ask = async (n: number): Promise<void> => {
    const called = app.invoke(order, { id: `order-${n}`, data: { n } });
    asked.push(called.then(async (run) => ({ id: run.id, n, result: await run.result({ timeout: "100s" }) })));
    await called.catch(() => {});
  };
  const ROUNDS = 3;
  const IDS = 20;
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each id three times; the gateway dies among them, and another one takes its port.
    const calls = Array.from({ length: 3 * IDS }, (_, n) => ask(round * IDS + (n % IDS)));
    const dying = gateways[round % 2];
    await Promise.race(calls);
    await dying?.child.kill();
    await Promise.all(calls);
    if (dying) gateways[round % 2] = await starts(dying.port);
  }
  const done = await Promise.all(asked);
  expect(new Set(done.map(({ id }) => id)).size).toBe(ROUNDS * IDS);
  expect(done.filter(({ n, result }) => n !== result)).toEqual([]);
  const { runs } = await app.runs.list({ limit: 1000 });
  expect(runs).toHaveLength(ROUNDS * IDS);
});

test("a handle of a run that there is not, and a list of what there cannot be, end at once with their codes", async () => {
  const { app } = await inApp();
  const codeOf = async (promise: Promise<unknown>): Promise<unknown> => {
    const error = await caught(promise);
    return HoldfastError.is(error) ? error.code : error;
  };
  for (const id of ["01JZ6Q4WJ2M6W9S0V7K3N8T5YB", "nonsense"]) {
    const handle = app.runs.handle(id);
    expect(await codeOf(handle.result())).toBe("NOT_FOUND");
    expect(await codeOf(handle.result({ timeout: "1h" }))).toBe("NOT_FOUND");
    expect(await codeOf(handle.status())).toBe("NOT_FOUND");
    expect(await codeOf(handle.cancel())).toBe("NOT_FOUND");
    expect(await codeOf(handle.follow().next())).toBe("NOT_FOUND");
    expect(await codeOf(app.runs.rerun(id))).toBe("NOT_FOUND");
  }
  expect(await codeOf(app.runs.list({ limit: -1 }))).toBe("OPTION_INVALID");
  const misspelt: object = { since: "nonsense" };
  expect(await codeOf(app.runs.list(misspelt))).toBe("OPTION_INVALID");
  expect(await codeOf(app.runs.list({ after: "nonsense" }))).toBe("BODY_INVALID");
  expect(await codeOf(app.runs.list({ functionId: "shop-ordre" }))).toBe("NOT_FOUND");
});
