import { encodeSdkResponse, FLUSH_PATH } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { EnvironmentClient } from "./environment-client.ts";
import { did, op, useGateway } from "./harness.ts";
import { replyOf, type WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;

/** Two environments with the same app; `crosses` fails when one of them notices the other. */
interface Feature {
  readonly functions: readonly WorkerFunction[];
  readonly crosses: (one: EnvironmentClient, two: EnvironmentClient) => Promise<void>;
}

const order = (config: object = {}): WorkerFunction[] => [{ id: "order", event: "shop/order", config }];
const done = { status: "DONE", value: "ok" } as const;
const forEvent = op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1h" } });
const forSignal = op("WaitForSignal", "w", { name: "go", opts: { signal: "go", timeout: "1h", conflict: "fail" } });

async function both(
  one: EnvironmentClient,
  two: EnvironmentClient,
  act: (client: EnvironmentClient) => Promise<unknown>,
): Promise<void> {
  for (const client of [one, two]) await act(client);
}

/** Each has as many runs as it has sent events, of its own events. */
async function apart(one: EnvironmentClient, two: EnvironmentClient, counts: readonly [number, number]): Promise<void> {
  for (const [index, client] of [one, two].entries()) {
    const runs = await client.all(counts[index] as number);
    for (const run of runs) {
      expect(run.environment).toBe(client.from);
      expect(new Set(run.output as string[])).toEqual(new Set([client.from]));
    }
  }
}

/** Both get a request, and keep it. */
async function held(one: EnvironmentClient, two: EnvironmentClient, count = 1): Promise<readonly [Requests, Requests]> {
  const of = async (client: EnvironmentClient): Promise<Requests> => {
    const taken: Requests = [];
    for (let n = 0; n < count; n += 1) {
      await client.send("shop/order");
      const { request, payload } = await client.request();
      expect(payload.event.data.from).toBe(client.from);
      taken.push(request);
    }
    return taken;
  };
  return [await of(one), await of(two)];
}
type Requests = Awaited<ReturnType<EnvironmentClient["request"]>>["request"][];

/** Both wait for something of one name; it comes in one of them, then in the other. */
async function waitsApart(
  one: EnvironmentClient,
  two: EnvironmentClient,
  wait: object,
  name: string,
  give: (client: EnvironmentClient) => Promise<unknown>,
): Promise<void> {
  const [[first], [second]] = await held(one, two);
  if (!first || !second) throw new Error("no requests");
  await one.worker.replied(first, { value: [wait] });
  await two.worker.replied(second, { value: [wait] });
  await one.waits(first.runId, name);
  await two.waits(second.runId, name);
  for (const [client, runId] of [
    [one, first.runId],
    [two, second.runId],
  ] as const) {
    await give(client);
    const { request, payload } = await client.request();
    expect(request.runId).toBe(runId);
    expect(JSON.stringify(payload.steps.w)).toContain(`"from":"${client.from}"`);
    await client.worker.replied(request, done);
    await client.ended(runId);
  }
}

const FEATURES: Readonly<Record<string, Feature>> = {
  "events and functions": {
    functions: order(),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      for (let n = 0; n < 5; n += 1) await one.send("shop/order");
      await two.send("shop/order");
      await apart(one, two, [5, 1]);
    },
  },
  "triggers with a wildcard": {
    functions: [{ id: "any", event: "shop/*" }],
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      await one.send("shop/this");
      await one.send("shop/that");
      await apart(one, two, [2, 0]);
    },
  },
  "ids that senders give to events": {
    functions: order(),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      const ids = [await one.send("shop/order", { id: "once" }), await two.send("shop/order", { id: "once" })];
      expect(new Set(ids).size).toBe(2);
      expect(await one.send("shop/order", { id: "once" })).toBe(ids[0]);
      await apart(one, two, [1, 1]);
    },
  },
  "seeds for ids of events": {
    functions: order(),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      const seed = { "x-inngest-event-id-seed": `${Date.now()},${Buffer.alloc(10, 7).toString("base64")}` };
      await both(one, two, (client) => client.send("shop/order", {}, seed));
      await both(one, two, (client) => client.send("shop/order", {}, seed));
      await apart(one, two, [1, 1]);
    },
  },
  idempotency: {
    functions: order({ idempotency: "event.data.order" }),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      for (const _ of [1, 2]) await both(one, two, (client) => client.send("shop/order", { data: { order: 1 } }));
      await apart(one, two, [1, 1]);
    },
  },
  "rate limits": {
    functions: order({ rateLimit: { limit: 2, period: "1h" } }),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      for (let n = 0; n < 3; n += 1) await both(one, two, (client) => client.send("shop/order"));
      await apart(one, two, [2, 2]);
    },
  },
  throttles: {
    functions: order({ throttle: { limit: 1, period: "1h" } }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      await one.worker.replied(first as Requests[number], done);
      await two.worker.replied(second as Requests[number], done);
    },
  },
  "concurrency of a function": {
    functions: order({ concurrency: { limit: 1 } }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      await one.worker.replied(first as Requests[number], done);
      await two.worker.replied(second as Requests[number], done);
    },
  },
  "concurrency of an environment": {
    functions: ["order", "other"].map((id) => {
      return { id, event: `shop/${id}`, config: { concurrency: { limit: 1, scope: "env", key: '"model"' } } };
    }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      // Within an environment it is one limit over all functions.
      const other = await one.send("shop/other");
      await one.worker.replied(first as Requests[number], done);
      const next = await one.request();
      expect(next.payload.event.id).toBe(other);
      await one.worker.replied(next.request, done);
      await two.worker.replied(second as Requests[number], done);
    },
  },
  "singletons that skip": {
    functions: order({ singleton: { mode: "skip" } }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      await both(one, two, (client) => client.send("shop/order"));
      expect([await one.runIds(), await two.runIds()]).toEqual([[first?.runId], [second?.runId]]);
      await one.worker.replied(first as Requests[number], done);
      await two.worker.replied(second as Requests[number], done);
    },
  },
  "singletons that cancel": {
    functions: order({ singleton: { mode: "cancel" } }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      one.answers();
      await one.send("shop/order");
      expect(await one.ended(first?.runId ?? "")).toMatchObject({ status: "CANCELLED" });
      await two.worker.replied(second as Requests[number], done);
      expect(await two.ended(second?.runId ?? "")).toMatchObject({ status: "COMPLETED" });
    },
  },
  debounce: {
    functions: order({ debounce: { period: "1m" } }),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      for (const _ of [1, 2]) await both(one, two, (client) => client.send("shop/order"));
      await one.gateway.skipTime(HOUR_MS);
      await apart(one, two, [1, 1]);
    },
  },
  batches: {
    functions: order({ batchEvents: { maxSize: 2, timeout: "1m" } }),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      await both(one, two, (client) => client.send("shop/order"));
      await one.send("shop/order");
      await apart(one, two, [1, 0]);
      await one.gateway.skipTime(HOUR_MS);
      await apart(one, two, [1, 1]);
      expect((await two.all(1))[0]?.output).toHaveLength(1);
    },
  },
  "waits for events": {
    functions: order(),
    crosses: (one, two) => waitsApart(one, two, forEvent, "shop/paid", (client) => client.send("shop/paid")),
  },
  "waits for events by value": {
    functions: order(),
    crosses: (one, two) => {
      const wait = op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1h", if: "async.data.n == 1" } });
      return waitsApart(one, two, wait, "shop/paid", (client) => client.send("shop/paid", { data: { n: 1 } }));
    },
  },
  signals: {
    functions: order(),
    crosses: (one, two) =>
      waitsApart(one, two, forSignal, "go", async (client) => {
        expect(await client.signal("go")).toBe(200);
        expect(await client.signal("go")).toBe(404);
      }),
  },
  invocations: {
    functions: [...order(), { id: "pack", event: "" }],
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      const invoke = op("InvokeFunction", "i", {
        opts: { function_id: "shop-pack", payload: { data: { from: one.from } } },
      });
      await one.worker.replied(first as Requests[number], { value: [invoke] });
      const child = await one.request();
      expect(child.request.functionSlug).toBe("shop-pack");
      await one.worker.replied(child.request, { status: "DONE", value: "packed" });
      const next = await one.request();
      expect(next.payload.steps.i).toMatchObject({ data: "packed" });
      await one.worker.replied(next.request, done);
      await two.worker.replied(second as Requests[number], done);
      expect(await two.runIds()).toHaveLength(1);
    },
  },
  "invocations of what only the other one has": {
    functions: order(),
    crosses: async (one, two) => {
      const functions = [{ id: "alone", event: "" }];
      const environment = two.environment === undefined ? {} : { environment: two.environment };
      await bench.worker(two.gateway, { app: "two", functions, ...environment });
      const [[first], [second]] = await held(one, two);
      const invoke = op("InvokeFunction", "i", { opts: { function_id: "two-alone", payload: {} } });
      await one.worker.replied(first as Requests[number], { value: [invoke] });
      const next = await one.request();
      expect(next.payload.steps.i).toMatchObject({ error: { code: "FUNCTION_UNKNOWN" } });
      await one.worker.replied(next.request, done);
      await two.worker.replied(second as Requests[number], done);
    },
  },
  "cancellations by events": {
    functions: order({ cancel: [{ event: "shop/stop" }] }),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      await one.send("shop/stop");
      expect(await one.ended(first?.runId ?? "")).toMatchObject({ status: "CANCELLED" });
      await two.worker.replied(second as Requests[number], done);
      expect(await two.ended(second?.runId ?? "")).toMatchObject({ status: "COMPLETED" });
    },
  },
  "events about ends of runs": {
    functions: [
      ...order(),
      { id: "alarm", event: "inngest/function.failed", config: {} },
      { id: "later", event: "inngest/deferred.schedule", config: {} },
    ],
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      const defer = op("DeferAdd", "d", { opts: { fn_slug: "shop-later", input: {} }, userland: { id: "d" } });
      await one.worker.replied(first as Requests[number], { value: [defer, did("a")] });
      const again = await one.request();
      await one.worker.replied(again.request, {
        status: "DONE",
        noRetry: true,
        value: { name: "Error", message: "no" },
      });
      const seen: string[] = [];
      for (const _ of [1, 2]) {
        const { request, payload } = await one.request();
        seen.push(payload.event.name);
        expect(JSON.stringify(payload.event)).not.toContain("@@");
        await one.worker.replied(request, done);
      }
      expect(seen.sort()).toEqual(["inngest/deferred.schedule", "inngest/function.failed"]);
      await two.worker.replied(second as Requests[number], done);
      await two.ended(second?.runId ?? "");
      expect(await two.runIds()).toHaveLength(1);
    },
  },
  schedules: {
    functions: [{ id: "tick", event: "", config: { triggers: [{ cron: "0 * * * *" }] } }],
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      await one.gateway.skipTime(HOUR_MS);
      await both(one, two, (client) => client.all(1));
      // Where the newest deployment has no schedule any more it ends, and nowhere else.
      const environment = one.environment === undefined ? {} : { environment: one.environment };
      await bench.worker(one.gateway, { functions: order(), appVersion: "2", ...environment });
      await one.gateway.skipTime(HOUR_MS);
      await two.all(2);
      expect(await one.runIds()).toHaveLength(1);
    },
  },
  deployments: {
    functions: order(),
    crosses: async (one, two) => {
      await both(one, two, async (client) => client.answers());
      const environment = one.environment === undefined ? {} : { environment: one.environment };
      const functions = [{ id: "renamed", event: "shop/order" }];
      const newer = await bench.worker(one.gateway, { functions, appVersion: "2", ...environment });
      newer.answer(() => ({ status: "DONE", value: [one.from] }));
      await both(one, two, (client) => client.send("shop/order"));
      await apart(one, two, [1, 1]);
      expect((await one.all(1))[0]?.functionId).toBe("shop-renamed");
      expect((await two.all(1))[0]?.functionId).toBe("shop-order");
    },
  },
  routing: {
    functions: order(),
    crosses: async (one, two) => {
      two.answers();
      await one.worker.close();
      await one.send("shop/order");
      await two.send("shop/order");
      await two.all(1);
      const [runId = ""] = await one.runIds();
      expect((await one.run(runId)).status).toBe("PENDING");
      const environment = one.environment === undefined ? {} : { environment: one.environment };
      const back = await bench.worker(one.gateway, { functions: order(), ...environment });
      back.answer(() => ({ status: "DONE", value: [one.from] }));
      await apart(one, two, [1, 1]);
    },
  },
  "reads, cancellations and reports over HTTP": {
    functions: order(),
    crosses: async (one, two) => {
      const [[first], [second]] = await held(one, two);
      if (!first || !second) throw new Error("no requests");
      const eventId = await two.send("shop/nothing");
      const { runId } = second;
      const post = { method: "POST" };
      for (const [path, init] of [
        [`/v1/runs/${runId}`, {}],
        [`/v1/events/${eventId}`, {}],
        [`/v0/runs/${runId}/actions`, {}],
        [`/v0/runs/${runId}/batch`, {}],
        [`/v1/runs/${runId}/cancel`, post],
        [`/v1/runs/${runId}/compensations/retry`, post],
        [`/v1/runs/${runId}`, { method: "DELETE" }],
        [`/v1/runs/${runId}/rerun`, post],
        [`/v1/runs/${runId}/fork`, { ...post, body: '{"step":"a"}' }],
        [`/v1/runs/${runId}/resume`, post],
      ] as const) {
        expect([path, (await one.call(path, init)).status]).toEqual([path, 404]);
      }
      // Also with all that a request of the other environment carries.
      const flush = encodeSdkResponse(replyOf(second, { status: "DONE", value: "crossed" }));
      expect((await one.call(FLUSH_PATH, { ...post, body: flush as Uint8Array<ArrayBuffer> })).status).toBe(403);
      const steps = JSON.stringify({ qi_id: `${second.requestId}~${second.leaseId}`, steps: [did("crossed")] });
      expect((await one.call(`/v1/checkpoint/${runId}/async`, { ...post, body: steps })).status).toBe(403);
      expect(await one.runIds()).toEqual([first.runId]);
      expect((await two.call(`/v1/runs?functionId=shop-order`)).body).toMatchObject({ runs: [{ id: runId }] });
      expect((await two.call(`/v1/events/${eventId}`)).body).toMatchObject({ name: "shop/nothing" });
      await one.worker.replied(first, done);
      await two.worker.replied(second, done);
      expect(await two.ended(runId)).toMatchObject({ output: "ok", functionId: "shop-order", appId: "shop" });
    },
  },
};

describe.each([
  { where: "the default environment and another one at one gateway", names: [undefined, "preview"], gateways: 1 },
  { where: "two environments at two gateways", names: ["feature/a-b", "preview"], gateways: 2 },
] as const)("$where", ({ names, gateways }) => {
  test.each(Object.keys(FEATURES))("%s stays within its environment", async (name) => {
    const { functions, crosses } = FEATURES[name] as Feature;
    const first = await bench.gateway({ virtualTime: true });
    const second = gateways === 2 ? await bench.gateway({ virtualTime: true }) : first;
    const client = async (gateway: Gateway, environment: string | undefined): Promise<EnvironmentClient> => {
      const worker = await bench.worker(gateway, { functions, ...(environment === undefined ? {} : { environment }) });
      return new EnvironmentClient(gateway, environment, worker);
    };
    await crosses(await client(first, names[0]), await client(second, names[1]));
  });
});
