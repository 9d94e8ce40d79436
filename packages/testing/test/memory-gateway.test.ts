import { createServer } from "node:net";
import { Holdfast } from "holdfast";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startTestGateway, type TestGateway, waitFor } from "../src/index.ts";

/** What a user does, on a gateway that keeps all of it in memory: the real SDK over a real socket. */

let gateway: TestGateway;
let app: Holdfast;

beforeEach(async () => {
  gateway = await startTestGateway({ store: "memory" });
  app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url });
});
afterEach(() => gateway.close());

async function send(name: string, data: object = {}): Promise<string> {
  const { ids } = await app.send({ name, data });
  return ids[0] ?? "";
}

const isWaiting = ({ status }: { status: string }): boolean => status === "WAITING";

test("a gateway on the memory store connects to no Postgres and has no database URL", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  vi.stubEnv("HOLDFAST_TEST_DATABASE_URL", `postgres://absent@127.0.0.1:${port}/none`);
  try {
    await using other = await startTestGateway({ store: "memory" });
    expect(await (await fetch(new URL("/ready", other.url))).json()).toEqual({ ready: true });
    expect(other.databaseUrl).toBeUndefined();
    await expect(startTestGateway({ store: "memory", server: "postgres://a@b/c" })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
    expect(connections).toBe(0);
  } finally {
    vi.unstubAllEnvs();
    await new Promise((resolve) => server.close(resolve));
  }
});

test("on the memory store steps run once, retries and sleeps end in their time, events and signals wake runs", async () => {
  const done: string[] = [];
  const order = app.createFunction(
    { id: "order", triggers: { event: "shop/placed" } },
    async ({ event, step, attempt }) => {
      await step.run("charge", () => void done.push(`charge ${event.data.card}`));
      await step.run("ship", () => {
        done.push("ship");
        if (done.filter((one) => one === "ship").length < 3) throw new Error("no truck");
      });
      await step.sleep("pack", "2h");
      const approval = await step.waitForEvent("approval", {
        event: "shop/approved",
        timeout: "1d",
        if: "async.data.order == event.data.order",
      });
      const signal = await step.waitForSignal("sign", { signal: `signed-${event.data.order}`, timeout: "1d" });
      const late = await step.waitForEvent("late", { event: "shop/late", timeout: "1h" });
      const child = await step.invoke("child", { function: helper, data: { n: 20 } });
      return { by: approval?.data.by, signal: signal?.data, late, child, attempt };
    },
  );
  const helper = app.createFunction({ id: "helper", triggers: [] }, async ({ event, step }) =>
    step.run("add", () => Number(event.data.n) + 1),
  );
  await using _connection = await app.connect({ functions: [order, helper] });
  const id = await send("shop/placed", { card: "4242", order: 7 });
  await waitFor(async () => (await gateway.runsOf(id))[0]?.steps.some((step) => step.name === "ship"), {
    what: "the first try",
  });
  for (const expected of [2, 3]) {
    await gateway.skipTime("1m");
    await waitFor(() => done.filter((one) => one === "ship").length >= expected, { what: `try ${expected}` });
  }
  await gateway.waitForRun(id, ({ steps }) => steps.some(({ name }) => name === "pack"));
  await gateway.skipTime("2h");
  await gateway.waitForRun(id, ({ steps }) => steps.some(({ name }) => name === "approval"));
  await send("shop/approved", { order: 8, by: "Bob" });
  await send("shop/approved", { order: 7, by: "Ann" });
  await gateway.waitForRun(id, ({ steps }) => steps.some(({ name }) => name === "sign"));
  await app.sendSignal({ signal: "signed-7", data: { ok: true } });
  await gateway.waitForRun(id, ({ steps }) => steps.some(({ name }) => name === "late"));
  await gateway.skipTime("1h");
  const run = await gateway.waitForRun(id);
  expect(run).toMatchObject({ status: "COMPLETED" });
  expect(run.output).toMatchObject({ by: "Ann", signal: { ok: true }, late: null, child: 21 });
  expect(done).toEqual(["charge 4242", "ship", "ship", "ship"]);
});

test.each(["-1h", -1, "soon"])("a skip of %j is refused by a promise that rejects", async (duration) => {
  let skipping: Promise<void> | undefined;
  expect(() => {
    skipping = gateway.skipTime(duration);
    skipping.catch(() => {});
  }).not.toThrow();
  await expect(skipping).rejects.toThrow("The duration of skipTime()");
});

test("on the memory store an event that comes in the millisecond after a wait began wakes its run", async () => {
  const asked: string[] = [];
  const asks = app.createFunction({ id: "asks", triggers: { event: "shop/ask" } }, async ({ event, step }) => {
    await step.run("before", () => void asked.push(String(event.data.n)));
    const answer = await step.waitForEvent("answer", {
      event: "shop/answer",
      timeout: "1d",
      if: "async.data.n == event.data.n",
    });
    return answer?.data.n;
  });
  await using _connection = await app.connect({ functions: [asks] });
  const ids = await Promise.all(Array.from({ length: 30 }, (_, n) => send("shop/ask", { n })));
  await Promise.all(
    ids.map(async (id, n) => {
      await gateway.waitForRun(id, isWaiting);
      await send("shop/answer", { n });
    }),
  );
  const runs = await Promise.all(ids.map((id) => gateway.waitForRun(id)));
  expect(runs.map(({ output }) => output)).toEqual(ids.map((_, n) => n));
});

test("on the memory store runs are cancelled by an event, and a failing run's onFailure handler runs", async () => {
  const failures: unknown[] = [];
  const sleeper = app.createFunction(
    { id: "sleeper", triggers: { event: "shop/sleep" }, cancelOn: [{ event: "shop/stop", match: "data.id" }] },
    async ({ step }) => step.sleep("long", "30d"),
  );
  const breaks = app.createFunction(
    {
      id: "breaks",
      triggers: { event: "shop/break" },
      retries: 0,
      onFailure: ({ error }) => void failures.push(error.message),
    },
    async () => {
      throw new Error("broken");
    },
  );
  await using _connection = await app.connect({ functions: [sleeper, breaks] });
  const [one, two] = [await send("shop/sleep", { id: 1 }), await send("shop/sleep", { id: 2 })];
  for (const id of [one, two]) await gateway.waitForRun(id, isWaiting);
  await send("shop/stop", { id: 1 });
  expect(await gateway.waitForRun(one)).toMatchObject({ status: "CANCELLED" });
  const broken = await send("shop/break");
  expect(await gateway.waitForRun(broken)).toMatchObject({ status: "FAILED" });
  await waitFor(() => failures.length === 1, { what: "the handler of the failure" });
  expect(failures).toEqual(["broken"]);
  expect((await gateway.runsOf(two))[0]).toMatchObject({ status: "WAITING" });
});

test("waiting for a run ends before a test runner ends the test, and says what became of the run", async () => {
  vi.stubEnv("HOLDFAST_TEST_TIMEOUT_MS", undefined);
  const nap = app.createFunction({ id: "nap", triggers: { event: "shop/nap" } }, ({ step }) => step.sleep("nap", "1d"));
  await using _connection = await app.connect({ functions: [nap] });
  const [napping, unheard] = [await send("shop/nap"), await send("shop/unheard")];
  await gateway.waitForRun(napping, isWaiting);
  const [run] = await gateway.runsOf(napping);
  try {
    await expect(gateway.waitForRun(napping)).rejects.toMatchObject({
      code: "TEST_TIMEOUT",
      message: expect.stringMatching(
        new RegExp(
          `^Timed out after 4\\d{3} ms waiting for the run of event ${napping} .*\nRun ${run?.id} of shop-nap is WAITING\\.$`,
        ),
      ),
    });
  } finally {
    vi.unstubAllEnvs();
  }
  await expect(gateway.waitForRun(unheard, undefined, { timeoutMs: 1 })).rejects.toThrow(
    /\nThe event has started no run\.$/,
  );
  await expect(gateway.waitForRun("01ABC", undefined, { timeoutMs: 1 })).rejects.toThrow(/ There is no event 01ABC\.$/);
  await expect(gateway.run("a/b")).rejects.toMatchObject({ code: "NOT_FOUND", message: "There is no run a/b." });
});

test("what a step sends ends a wait that was begun beside it, however soon it is sent", async () => {
  const asking = app.createFunction({ id: "asking", triggers: { event: "shop/asked" } }, async ({ step }) => {
    const [answer] = await Promise.all([
      step.waitForEvent("answer", { event: "shop/answered", timeout: "1h" }),
      step.run("ask", () => app.send({ name: "shop/answered", data: { by: "event" } })),
    ]);
    const [signal] = await Promise.all([
      step.waitForSignal("signal", { signal: "answered", timeout: "1h" }),
      step.run("ask again", async () => (await app.sendSignal({ signal: "answered", data: "signal" })).runId),
    ]);
    return [answer?.data.by, signal?.data];
  });
  await using _connection = await app.connect({ functions: [asking] });
  const run = await gateway.waitForRun(await send("shop/asked"));
  expect(run).toMatchObject({ status: "COMPLETED", output: ["event", "signal"] });
});

test("a gateway leaves the process's fetch, Request and Response as they are", async () => {
  expect((await fetch("data:,x")) instanceof Response).toBe(true);
  expect(new Request("http://localhost/") instanceof Request).toBe(true);
});
