import { Holdfast } from "holdfast";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { startTestGateway, type TestGateway, waitFor } from "../src/index.ts";

/** Each kind of fault against a worker with the real SDK over a real socket: it does what it says, and no step that is stored runs again. */

let gateway: TestGateway;
let app: Holdfast;
/** The run whose end was awaited last. */
let lastRun: string;
/** Every body that ran, in order: run and step. */
let bodies: string[];

const lease = { leaseMs: 2_000, heartbeatMs: 500, requestAckMs: 1_000, reconnectGraceMs: 500, retryBaseMs: 50 };

/** What each suite runs on: the same faults must do the same, wherever steps are stored. */
const STORES = ["memory", "postgres"] as const;

/** A gateway for each test of the suite. */
function useStore(store: (typeof STORES)[number]): void {
  beforeEach(async () => {
    const where = store === "memory" ? { store } : { server: inject("postgresUrl") };
    gateway = await startTestGateway({ ...where, ...lease });
    app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger: quiet });
    bodies = [];
  });
  afterEach(() => gateway.close());
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

function order() {
  return app.createFunction({ id: "order", triggers: { event: "shop/placed" } }, async ({ step, runId }) => {
    for (const name of ["charge", "pack", "ship"]) await step.run(name, () => void bodies.push(`${runId} ${name}`));
    return "shipped";
  });
}

async function connect() {
  return app.connect({ functions: [order()], instanceId: "web-1" });
}

async function send(): Promise<string> {
  const { ids } = await app.send({ name: "shop/placed", data: {} });
  return ids[0] ?? "";
}

/** How often each step's body ran in this run. */
async function bodiesOf(eventId: string): Promise<Record<string, number>> {
  const run = await gateway.waitForRun(eventId);
  lastRun = run.id;
  expect(run).toMatchObject({ status: "COMPLETED", output: "shipped" });
  const names = bodies.filter((one) => one.startsWith(run.id)).map((one) => one.split(" ")[1] ?? "");
  return Object.fromEntries(
    ["charge", "pack", "ship"].map((name) => [name, names.filter((one) => one === name).length]),
  );
}

const call = async (path: string): Promise<unknown> => (await fetch(new URL(path, gateway.url))).json();
const detailOf = async (runId: string) => (await call(`/v1/runs/${runId}`)) as { readonly leasesLost: number };
const connectionIds = async (): Promise<string[]> =>
  ((await call("/v1/workers")) as { workers: { connectionId: string }[] }).workers.map((one) => one.connectionId);

const once = { charge: 1, pack: 1, ship: 1 };
const happened = async (id: string): Promise<number> =>
  (await gateway.faults.list()).find((one) => one.id === id)?.happened ?? 0;

describe.each(STORES)("faults of frames, on %s", (store) => {
  useStore(store);

  test("a lost acknowledgement of a checkpoint is seen in the history, and no stored step runs again", async () => {
    await using _connection = await connect();
    const fault = await gateway.faults.add({
      what: "drop",
      where: { kind: "GATEWAY_CHECKPOINT_ACK", step: "charge" },
      count: 1,
    });
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await happened(fault.id)).toBe(1);
    const [entry] = await gateway.faults.history();
    expect(entry).toMatchObject({ faultId: fault.id, what: "drop", functionId: "shop-order" });
    expect(entry?.text).toContain("GATEWAY_CHECKPOINT_ACK [charge] to the worker: lost");
  });

  test.each([
    { what: "delay", delayMs: 30, jitterMs: 20 },
    { what: "duplicate", copies: 2 },
    { what: "reorder", delayMs: 50 },
  ] as const)("frames under $what in both directions arrive, and every step runs once", async (fault) => {
    await using _connection = await connect();
    const { id } = await gateway.faults.add({ ...fault, where: { function: "shop-order" }, seed: 7 });
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await happened(id)).toBeGreaterThan(0);
  });

  test.each([
    { what: "cut" },
    { what: "close", code: 1011, reason: "connect_internal_error" },
    { what: "half-open" },
  ] as const)(
    "a connection that ends by $what at a checkpoint is opened again, and no stored step runs again",
    async (fault) => {
      await using _connection = await connect();
      const before = await connectionIds();
      const { id } = await gateway.faults.add({
        ...fault,
        where: { kind: "WORKER_CHECKPOINT", step: "pack" },
        count: 1,
      });
      const ran = await bodiesOf(await send());
      expect(ran.charge).toBe(1);
      expect(ran.ship).toBe(1);
      // Its result was lost on the way: it is sent again, or the body runs again.
      expect(ran.pack).toBeLessThanOrEqual(2);
      expect(await happened(id)).toBe(1);
      // It came back under another connection.
      await waitFor(async () => (await connectionIds()).some((one) => !before.includes(one)), {
        what: "a new connection",
      });
    },
  );

  test("withheld acknowledgements delay a run until they are let through again", async () => {
    await using _connection = await connect();
    const fault = await gateway.faults.add({ what: "withhold-acks" });
    const eventId = await send();
    await waitFor(async () => (await happened(fault.id)) > 0, { what: "an acknowledgement to be withheld" });
    expect((await gateway.runsOf(eventId))[0]?.status).not.toBe("COMPLETED");
    await gateway.faults.remove(fault.id);
    expect(await bodiesOf(eventId)).toEqual(once);
  });

  test("a pass that is killed before a commit runs that body again, one that is killed after it does not", async () => {
    await using _connection = await connect();
    const before = await gateway.faults.add({
      what: "kill",
      moment: "before-commit",
      where: { step: "pack" },
      count: 1,
    });
    expect(await bodiesOf(await send())).toEqual({ charge: 1, pack: 2, ship: 1 });
    expect(await happened(before.id)).toBe(1);
    const after = await gateway.faults.add({ what: "kill", moment: "after-commit", where: { step: "pack" }, count: 1 });
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await happened(after.id)).toBe(1);
    // Both passes were over, and another one went on.
    const { leasesLost } = await detailOf(lastRun);
    expect(leasesLost).toBe(1);
  });

  test("the same seed makes the same decisions, and a limit to a step leaves the others alone", async () => {
    await using _connection = await connect();
    const decisions: string[][] = [];
    for (let round = 0; round < 2; round += 1) {
      await gateway.faults.clear();
      const before = (await gateway.faults.history(1))[0]?.sequence ?? 0;
      await gateway.faults.add({
        what: "delay",
        delayMs: 1,
        where: { kind: "WORKER_CHECKPOINT" },
        probability: 0.5,
        seed: 3,
      });
      for (let n = 0; n < 4; n += 1) await bodiesOf(await send());
      const entries = (await gateway.faults.history()).filter(({ sequence }) => sequence > before);
      decisions.push(entries.map(({ text }) => text));
    }
    expect(decisions[0]?.length).toBeGreaterThan(0);
    expect(decisions[1]).toEqual(decisions[0]);
    await gateway.faults.clear();
    await gateway.faults.add({ what: "delay", delayMs: 1, where: { step: "ship" } });
    await bodiesOf(await send());
    const texts = (await gateway.faults.history(20)).map(({ text }) => text).filter((text) => text.includes("[ship]"));
    expect(texts.length).toBeGreaterThan(0);
    expect((await gateway.faults.list())[0]?.happened).toBe(texts.length);
  });
});

describe.each(STORES)("faults of calls, of the database and at once, on %s", (store) => {
  useStore(store);

  test("a refused start is tried again until it is let through", async () => {
    const fault = await gateway.faults.add({ what: "refuse-start", count: 2 });
    await using _connection = await connect();
    expect(await happened(fault.id)).toBe(2);
    expect(await bodiesOf(await send())).toEqual(once);
  });

  test("a reply that no socket carries goes by HTTP when the app closes, also when that is refused at first", async () => {
    const connection = await connect();
    await gateway.faults.add({ what: "drop", where: { kind: "WORKER_REPLY" } });
    const refused = await gateway.faults.add({ what: "refuse-flush", count: 1 });
    const eventId = await send();
    await waitFor(async () => (await gateway.faults.history()).some(({ what }) => what === "drop"), {
      what: "the reply to be lost",
    });
    await connection.close();
    expect(await happened(refused.id)).toBe(1);
    expect(await bodiesOf(eventId)).toEqual(once);
  });

  test("a database that is slow, refuses, or loses its answers delays runs and loses nothing", async () => {
    await using _connection = await connect();
    const slow = await gateway.faults.add({ what: "slow-database", delayMs: 20, count: 3 });
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await happened(slow.id)).toBe(3);
    const lost = await gateway.faults.add({ what: "lose-answer", where: { operation: "commit" }, count: 1 });
    const ran = await bodiesOf(await send());
    expect(Object.values(ran).every((times) => times <= 2)).toBe(true);
    expect(await happened(lost.id)).toBe(1);
    const refused = await gateway.faults.add({ what: "refuse-database", where: { operation: "intake" }, count: 1 });
    // What was not taken is said to be so, and the SDK sends it again.
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await happened(refused.id)).toBe(1);
  });

  test("leases that end early and connections that are reset give the work out again, stored steps stay", async () => {
    await using _connection = await connect();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = app.createFunction({ id: "slow", triggers: { event: "shop/slow" } }, async ({ step, runId }) => {
      await step.run("charge", () => void bodies.push(`${runId} charge`));
      await step.run("pack", async () => {
        bodies.push(`${runId} pack`);
        if (bodies.filter((one) => one === `${runId} pack`).length === 1) await held;
      });
      return "shipped";
    });
    await using _slow = await app.connect({ functions: [slow], instanceId: "web-2" });
    const { ids } = await app.send({ name: "shop/slow", data: {} });
    await waitFor(() => bodies.some((one) => one.endsWith(" pack")), { what: "the second step" });
    const expired = await gateway.faults.add({ what: "expire-leases", where: { function: "shop-slow" } });
    expect(expired.happened).toBe(1);
    const run = await gateway.waitForRun(ids[0] ?? "");
    release();
    expect(run.status).toBe("COMPLETED");
    expect(bodies.filter((one) => one === `${run.id} charge`)).toHaveLength(1);
    expect(bodies.filter((one) => one === `${run.id} pack`)).toHaveLength(2);
    const killed = await gateway.faults.add({ what: "kill-connection", where: { connection: "web-2" } });
    expect(killed.happened).toBe(1);
    await waitFor(
      async () => {
        const answer = (await (await fetch(new URL("/v1/workers", gateway.url))).json()) as {
          workers: { instanceId: string; status: string }[];
        };
        return answer.workers.some((one) => one.instanceId === "web-2" && one.status === "READY");
      },
      { what: "the worker to be back" },
    );
  });

  test("time is skipped, so that a sleep of days ends", async () => {
    const sleeper = app.createFunction({ id: "sleeper", triggers: { event: "shop/sleep" } }, async ({ step }) => {
      await step.sleep("long", "3d");
      return "awake";
    });
    await using _connection = await app.connect({ functions: [sleeper] });
    const { ids } = await app.send({ name: "shop/sleep", data: {} });
    await gateway.waitForRun(ids[0] ?? "", ({ status }) => status === "WAITING");
    await gateway.faults.add({ what: "skip-time", skipMs: 3 * 86_400_000 });
    expect(await gateway.waitForRun(ids[0] ?? "")).toMatchObject({ status: "COMPLETED", output: "awake" });
  });
});

describe("faults that are asked for wrongly", () => {
  useStore("memory");

  test("what is asked for wrongly is refused with what may be given, and a removed fault happens no more", async () => {
    const add = (fault: unknown) => gateway.faults.add(fault as never);
    await expect(add({ what: "dorp" })).rejects.toMatchObject({
      code: "FAULT_INVALID",
      message: expect.stringContaining('Did you mean "drop"?'),
    });
    await expect(add({ what: "drop", where: { kind: "WORKER_RELPY" } })).rejects.toThrow(
      'Did you mean "WORKER_REPLY"?',
    );
    await expect(add({ what: "drop", delayMs: 3 })).rejects.toThrow("takes no `delayMs`");
    await expect(add({ what: "refuse-start", where: { step: "a" } })).rejects.toThrow(
      "cannot be limited by `where.step`",
    );
    await expect(add({ what: "close", code: 1006 })).rejects.toThrow("close code that may be sent");
    await expect(add({ what: "drop", probability: 2 })).rejects.toThrow("from 0 to 1");
    await expect(gateway.faults.remove("fault-99")).rejects.toMatchObject({ code: "NOT_FOUND" });
    const { id } = await gateway.faults.add({ what: "refuse-start" });
    expect(await gateway.faults.clear()).toBe(1);
    await using _connection = await connect();
    expect(await bodiesOf(await send())).toEqual(once);
    expect(await gateway.faults.list()).toEqual([]);
    expect((await gateway.faults.history()).filter(({ faultId }) => faultId === id)).toEqual([]);
  });
});
