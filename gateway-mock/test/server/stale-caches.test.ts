import { systemTimers } from "@holdfast/core";
import type { ExecutorRequest } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { FUNCTIONS_EVERY_MS } from "../../src/dispatch/registry/registry-poller.ts";
import type { Gateway, GatewayPorts } from "../../src/server.ts";
import { call, ended, metrics, op, send, start, triggered, useGateway } from "./harness.ts";

const bench = useGateway();

/** A gateway whose caches age: it hears nothing of others, and reads nothing again by itself. Its claims stop with `frozen`. */
interface Aged {
  readonly ports: GatewayPorts;
  frozen: boolean;
}

function aged(frozen = true): Aged {
  const self: Aged = {
    frozen,
    ports: {
      timers: {
        set: (delayMs, fire, options) =>
          systemTimers.set(delayMs, delayMs === FUNCTIONS_EVERY_MS ? () => {} : fire, options),
      },
      storeFor: (store) => ({
        ...store,
        onWake: () => () => {},
        claim: (request) => (self.frozen ? Promise.resolve([]) : store.claim(request)),
      }),
    },
  };
  return self;
}

const moved = async (gateway: Gateway): Promise<number> => (await metrics(gateway)).dispatcher.registryMoved ?? 0;

test("an event is never accepted by a gateway that does not know the functions it triggers", async () => {
  const here = await bench.gateway();
  const there = await bench.gateway({}, aged().ports);
  const worker = await bench.worker(here);
  const events = Array.from({ length: 3 }, (_, n) => ({ name: "shop/order", data: { n }, id: `key-${n}` }));
  const body = (await call(there, "/e/test", { method: "POST", body: JSON.stringify(events) })) as { ids: string[] };
  for (const id of body.ids) {
    const runId = await triggered(there, id);
    const { request } = await worker.request();
    await worker.replied(request, { status: "DONE", value: 1 });
    await ended(here, runId);
  }
  expect(await moved(there)).toBeGreaterThan(0);
  // The keys are those of the events that were stored.
  const again = (await call(there, "/e/test", { method: "POST", body: JSON.stringify(events) })) as { ids: string[] };
  expect(again.ids).toEqual(body.ids);
});

test("an invocation or the end of a run starts the functions registered at that moment", async () => {
  const age = aged(false);
  const there = await bench.gateway({}, age.ports);
  const old = await bench.worker(there);
  const [parent, other] = await start(there, 2);
  const requests = new Map<string, ExecutorRequest>();
  for (const { request } of [await old.request(), await old.request()]) requests.set(request.runId, request);
  age.frozen = true;
  const here = await bench.gateway();
  const functions = [
    { id: "ends", event: "inngest/function.finished" },
    { id: "child", event: "" },
  ];
  const fresh = await bench.worker(here, { app: "audit", functions });
  const opts = { function_id: "audit-child", payload: { data: {} } };
  await old.replied(requests.get(parent ?? "") as ExecutorRequest, { value: [op("InvokeFunction", "c", { opts })] });
  await fresh.request();
  await bench.worker(here, { app: "late", functions: functions.slice(0, 1), pauses: true });
  await old.replied(requests.get(other ?? "") as ExecutorRequest, { status: "DONE", value: 1 });
  await ended(here, other ?? "");
  const { runs } = (await call(here, "/v1/runs?limit=100")) as { runs: { functionId: string }[] };
  const started = runs.map(({ functionId }) => functionId).sort();
  expect(started).toEqual(["audit-child", "audit-ends", "late-ends", "shop-order", "shop-order"]);
  expect(await moved(there)).toBeGreaterThan(0);
});

/** Numbers from 0 on; the same for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = ["a", "b", "c"];

test.each([1, 2, 3, 4])(
  "with registry caches of any age (seed %i) each event starts the functions registered when it is sent",
  async (seed) => {
    const roll = dice(seed);
    const ages = [aged(), aged(), aged()];
    const gateways = await Promise.all(ages.map(({ ports }) => bench.gateway({ maxConnections: 4 }, ports)));
    const pick = (): Gateway => gateways[roll(gateways.length)] as Gateway;
    let registered: readonly string[] = [];
    let cancels = false;
    let version = 0;
    const cancelled: string[] = [];
    for (let step = 0; step < 25; step += 1) {
      if (step === 0 || roll(4) === 0) {
        // A deployment with other functions, of which some may be cancelled now.
        version += 1;
        registered = NAMES.filter(() => roll(3) > 0);
        cancels = roll(2) === 0;
        const config = cancels ? { cancel: [{ event: "shop/stop" }] } : {};
        const functions = registered.map((id) => ({ id, event: `shop/${id}`, config }));
        const worker = await bench.worker(pick(), { appVersion: String(version), functions, pauses: true });
        if (roll(2) === 0) worker.cut();
        continue;
      }
      const name = NAMES[roll(NAMES.length)] ?? "";
      const runId = await triggered(pick(), await send(pick(), `shop/${name}`));
      expect(runId !== "", `step ${step}, version ${version}: ${name}`).toBe(registered.includes(name));
      if (runId === "") continue;
      const run = await bench.store.getRun(runId);
      expect(run?.head.appVersion).toBe(String(version));
      expect(run?.waits.map(({ kind }) => kind)).toEqual(cancels ? ["cancel"] : []);
      if (cancels) cancelled.push(runId);
    }
    await send(pick(), "shop/stop");
    for (const one of ages) one.frozen = false;
    for (const runId of cancelled) expect((await ended(pick(), runId)).status).toBe("CANCELLED");
  },
);
