import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { describe, expect, onTestFinished, test } from "vitest";
import { call, did, ended, op, runDetail, send, start, triggered, useGateway, waits } from "./harness.ts";
import type { Payload, RawWorker, WorkerFunction, WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;
const functions: readonly WorkerFunction[] = [
  { id: "order", event: "shop/order", retries: 1 },
  { id: "pack", event: "" },
];

const forEvent = (id: string, more: object = {}) =>
  op("WaitForEvent", id, { name: "shop/paid", opts: { timeout: "1h", ...more } });
const forSignal = (id: string, more: object = {}) =>
  op("WaitForSignal", id, { name: "go", opts: { signal: "go", timeout: "1h", conflict: "fail", ...more } });
const invoke = (id: string, more: object = {}) =>
  op("InvokeFunction", id, { opts: { function_id: "shop-pack", payload: { data: { box: 1 } }, ...more } });

const signal = async (url: string, name = "go", data: unknown = { n: 1 }) => {
  const body = JSON.stringify({ signal: name, data });
  const response = await fetch(`${url}/v1/signals`, { method: "POST", body });
  return { status: response.status, body: await response.json() };
};

/** The next pass of the run; it ends it with its memo. */
async function finish(worker: RawWorker, runId: string): Promise<Payload["steps"]> {
  const { request, payload } = await worker.request("step");
  expect(request.runId).toBe(runId);
  await worker.replied(request, { status: "DONE", value: "over" });
  return payload.steps;
}

describe.each([
  { name: "plain", options: { extensions: [], functions } },
  { name: "in place", options: { functions } },
] satisfies { name: string; options: Partial<WorkerOptions> }[])("Waits, $name", ({ options }) => {
  test("an event that fulfils the condition ends a wait; other events and earlier ones do not", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    await send(gateway, "shop/paid", { n: 0 });
    const { request } = await worker.request();
    await worker.replied(request, { value: [forEvent("w", { if: "event.data.n == async.data.n" })] });
    await waits(gateway, runId, "shop/paid");
    await send(gateway, "shop/paid", { n: 7 });
    await send(gateway, "shop/other", { n: 0 });
    const sent = (name: string) =>
      call(gateway, "/e/test", { method: "POST", body: JSON.stringify({ name, data: { n: 0 } }) });
    expect(await sent("shop/other")).not.toHaveProperty("awaited");
    const { ids, awaited } = (await sent("shop/paid")) as { ids: string[]; awaited: string[] };
    expect(awaited).toEqual(ids);
    const [id] = ids;
    const steps = await finish(worker, runId);
    expect(steps.w).toMatchObject({
      type: "data",
      data: { id, name: "shop/paid", data: { n: 0 }, ts: expect.any(Number) },
    });
    const run = await ended(gateway, runId);
    expect(run.steps).toMatchObject([{ id: "w", op: "WaitForEvent", status: "completed" }]);
    expect(run.waits).toEqual([]);
  });

  test("a wait that times out returns null, as does one whose timeout has already passed", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    await worker.replied(request, {
      value: [forEvent("w", { timeout: "1h" }), forEvent("now", { timeout: "" }), forSignal("s", { timeout: "1h" })],
    });
    await gateway.skipTime(HOUR_MS);
    const memo: Record<string, unknown> = {};
    for (let passes = 0; passes < 3 && Object.keys(memo).length < 3; passes += 1) {
      const next = await worker.request("step");
      Object.assign(memo, next.payload.steps);
      const open = [forEvent("w", { timeout: "1h" }), forSignal("s", { timeout: "1h" })].filter(
        (_, i) => !(["w", "s"][i]! in memo),
      );
      if (open.length > 0) await worker.replied(next.request, { value: open });
      else await worker.replied(next.request, { status: "DONE", value: 1 });
    }
    const nothing = { type: "data", data: null };
    expect(memo).toEqual({ w: nothing, now: nothing, s: nothing });
    await ended(gateway, runId);
  });

  test("signal and event names that the database cannot store fail the step, and the longest signal is found", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    // Of three bytes each, and not to be compressed.
    const longest = String.fromCharCode(...Array.from({ length: 512 }, (_, n) => 0x4e00 + ((n * 7919) % 20_000)));
    const wrong = [
      op("WaitForEvent", "nul", { name: "a\0b", opts: { timeout: "1h" } }),
      op("WaitForEvent", "long", { name: "x".repeat(256), opts: { timeout: "1h" } }),
      op("WaitForEvent", "if", { name: "a", opts: { timeout: "1h", if: "async.data.x == 'a\0b'" } }),
      op("WaitForSignal", "signal", { opts: { signal: "a\0b", timeout: "1h" } }),
      op("WaitForSignal", "longer", { opts: { signal: `${longest}x`, timeout: "1h" } }),
    ];
    const ids = ["nul", "long", "if", "signal", "longer"];
    const waiting = op("WaitForSignal", "longest", { opts: { signal: longest, timeout: "1h" } });
    await worker.replied(request, { value: [...wrong, waiting] });
    await waits(gateway, runId, longest);
    expect(await signal(gateway.url, "a\0b")).toMatchObject({ status: 400, body: { code: "BODY_INVALID" } });
    expect(await signal(gateway.url, `${longest}x`)).toMatchObject({ status: 400 });
    expect(await signal(gateway.url, longest)).toMatchObject({ status: 200 });
    const known: string[] = [];
    for (let steps: Payload["steps"] = {}; !("longest" in steps); ) {
      const pass = await worker.request("step");
      steps = pass.payload.steps;
      for (const id of ids) {
        if (id in steps && !known.includes(id)) known.push(id);
        if (id in steps) expect(steps[id]).toMatchObject({ error: { code: expect.stringMatching(/_INVALID$/) } });
      }
      await worker.replied(pass.request, "longest" in steps ? { status: "DONE", value: 1 } : { value: [waiting] });
    }
    expect(known.toSorted()).toEqual(ids.toSorted());
    await ended(gateway, runId);
  });

  test("a signal ends one waiting step once; without a waiting step it is reported as not found", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    expect(await signal(gateway.url)).toMatchObject({
      status: 404,
      body: {
        code: "NOT_FOUND",
        error: expect.stringMatching(/^No run waits for the signal "go" now\. It was not kept/),
      },
    });
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    await worker.replied(request, { value: [forSignal("s")] });
    await waits(gateway, runId, "go");
    expect(await signal(gateway.url)).toEqual({ status: 200, body: { data: { run_id: runId } } });
    expect((await signal(gateway.url)).status).toBe(404);
    expect(await finish(worker, runId)).toEqual({ s: { type: "data", data: { signal: "go", data: { n: 1 } } } });
  });

  test("a step that waits for a taken signal fails, or replaces the first one, which then waits in vain", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, options);
    const [one = ""] = await start(gateway);
    const first = await worker.request();
    await worker.replied(first.request, { value: [forSignal("s", { timeout: "1h" })] });
    await waits(gateway, one, "go");
    const [two = ""] = await start(gateway);
    const second = await worker.request();
    await worker.replied(second.request, { value: [forSignal("s")] });
    const third = await worker.request("step");
    expect(third.payload.steps.s).toMatchObject({ type: "error", error: { code: "SIGNAL_CONFLICT" } });
    await worker.replied(third.request, { value: [forSignal("t", { conflict: "replace" })] });
    await waits(gateway, two, "go");
    expect((await signal(gateway.url)).body).toEqual({ data: { run_id: two } });
    expect(await finish(worker, two)).toMatchObject({ t: { data: { signal: "go" } } });
    await gateway.skipTime(HOUR_MS);
    expect(await finish(worker, one)).toEqual({ s: { type: "data", data: null } });
  });

  test("of one run's two waits for the same signal the first keeps it, unless the second replaces it", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const first = await worker.request();
    await worker.replied(first.request, { value: [forSignal("s"), forSignal("t")] });
    await waits(gateway, runId, "go");
    const conflict = {
      type: "error",
      error: { code: "SIGNAL_CONFLICT", message: expect.stringContaining("of this run") },
    };
    const known: Payload["steps"] = { t: conflict };
    if (!("extensions" in options)) {
      // In place a failed step is told at once. One that comes later is compared with what is stored.
      const second = await worker.request("step");
      expect(second.payload.steps).toMatchObject(known);
      await worker.replied(second.request, { value: [forSignal("s"), forSignal("u")] });
      const third = await worker.request("step");
      expect(third.payload.steps).toMatchObject({ ...known, u: { error: { code: "SIGNAL_CONFLICT" } } });
      await worker.replied(third.request, { value: [forSignal("s")] });
    }
    expect((await signal(gateway.url)).body).toEqual({ data: { run_id: runId } });
    expect(await finish(worker, runId)).toMatchObject({ ...known, s: { type: "data", data: { signal: "go" } } });
  });

  test("of one run's two waits for the same signal in replace mode the last gets it, and the first waits in vain", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    const replacing = forSignal("t", { conflict: "replace" });
    await worker.replied(request, { value: [forSignal("s", { timeout: "1h" }), replacing] });
    await waits(gateway, runId, "go");
    expect((await signal(gateway.url)).body).toEqual({ data: { run_id: runId } });
    expect((await signal(gateway.url)).status).toBe(404);
    if (!("extensions" in options)) {
      const next = await worker.request("step");
      expect(Object.keys(next.payload.steps)).toEqual(["t"]);
      await worker.replied(next.request, { value: [forSignal("s", { timeout: "1h" })] });
    }
    await gateway.skipTime(HOUR_MS);
    expect(await finish(worker, runId)).toEqual({
      s: { type: "data", data: null },
      t: { type: "data", data: { signal: "go", data: { n: 1 } } },
    });
  });

  test("invoke starts the other function's run with the payload and returns its value or error", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    await worker.replied(request, { value: [invoke("i", { timeout: "5m" })] });
    const child = await worker.request();
    expect(child.request).toMatchObject({ functionSlug: "shop-pack" });
    expect(child.payload.event).toMatchObject({
      name: "inngest/function.invoked",
      data: { box: 1, _inngest: { fn_id: "shop-pack", correlation_id: `${runId}.i`, source_fn_id: "shop-order" } },
    });
    await worker.replied(child.request, { status: "DONE", value: { packed: true } });
    const next = await worker.request();
    expect(next.payload.steps.i).toEqual({ type: "data", data: { packed: true } });
    await worker.replied(next.request, { value: [invoke("j")] });
    const failing = await worker.request();
    const error = { name: "BoxError", message: "too small", stack: "at box", cause: { name: "Error", message: "why" } };
    await worker.replied(failing.request, { status: "DONE", noRetry: true, value: error });
    expect((await finish(worker, runId)).j).toEqual({ type: "error", error });
    const parent = await ended(gateway, runId);
    expect(parent.steps.map(({ id, op: kind, status }) => [id, kind, status])).toEqual([
      ["i", "InvokeFunction", "completed"],
      ["j", "InvokeFunction", "failed"],
    ]);
  });

  test("invoke fails for a missing function, a timeout and a cancelled child run", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, options);
    const [runId = ""] = await start(gateway);
    const first = await worker.request();
    await worker.replied(first.request, { value: [invoke("none", { function_id: "shop-none" })] });
    const second = await worker.request();
    expect(second.payload.steps.none).toMatchObject({ type: "error", error: { code: "FUNCTION_UNKNOWN" } });
    await worker.replied(second.request, { value: [invoke("slow", { timeout: "1h" })] });
    const child = await worker.request();
    await gateway.skipTime(HOUR_MS);
    const third = await worker.request();
    expect(third.payload.steps.slow).toMatchObject({ type: "error", error: { name: "InngestInvokeTimeoutError" } });
    // It goes on; its end is of no interest any more.
    await worker.replied(child.request, { status: "DONE", value: 1 });
    await worker.replied(third.request, { value: [invoke("stopped")] });
    const stopped = await worker.request();
    await call(gateway, `/v1/runs/${stopped.request.runId}/cancel`, { method: "POST" });
    expect((await finish(worker, runId)).stopped).toMatchObject({ type: "error", error: { code: "RUN_CANCELLED" } });
  });
});

test("a wait that starts while other steps run ends while they still run", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [forEvent("w")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await send(gateway, "shop/paid");
  await waitFor(async () => (await runDetail(gateway, runId)).steps[0]?.status === "completed", {
    what: "the wait to end",
  });
  worker.checkpoint(request, 2, [did("a")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await worker.replied(request, { value: [forEvent("w")] });
  expect(Object.keys(await finish(worker, runId))).toEqual(["w", "a"]);
});

test("an event at one gateway wakes the waiting runs at all others, each once", async () => {
  const [one, two, three] = [await bench.gateway(), await bench.gateway(), await bench.gateway()];
  const worker = await bench.worker(one, { functions });
  const runIds = await start(one, 30);
  for (const _ of runIds) {
    const { request } = await worker.request();
    await worker.replied(request, { value: [forEvent("w")] });
  }
  await Promise.all([send(two, "shop/paid"), send(three, "shop/paid")]);
  const seen = new Set<string>();
  for (const _ of runIds) {
    const { request, payload } = await worker.request();
    expect(payload.steps.w).toMatchObject({ data: { name: "shop/paid" } });
    seen.add(request.runId);
    await worker.replied(request, { status: "DONE", value: 1 });
  }
  expect(seen.size).toBe(30);
  const runs = await Promise.all(runIds.map((runId) => ended(two, runId)));
  for (const run of runs) expect(run.log.filter(({ kind, key }) => kind === "DISPATCHED" && key === "").length).toBe(2);
});

test("when a gateway dies right after it stored an event, another one notifies the waiting runs", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [forEvent("w")] });
  const event = { id: "01JZ0000000000000000000001", name: "shop/paid", tsMs: 1, payloadJson: '{"name":"shop/paid"}' };
  const lease = { gatewayId: "dead", leaseMs: 300 };
  expect((await bench.store.intake([{ event, runs: [], lease }]))[0]).toMatchObject({ awaited: true });
  expect(await finish(worker, runId)).toEqual({ w: { type: "data", data: { name: "shop/paid" } } });
});

test("cancelOn cancels the runs whose condition the event fulfils, and stops their handlers", async () => {
  const gateway = await bench.gateway();
  const cancel = [{ event: "shop/stop", if: "event.data.n == async.data.n", timeout: "1h" }];
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", config: { cancel } }] });
  const [zero = "", one = ""] = await start(gateway, 2);
  const requests = [await worker.request(), await worker.request()];
  await send(gateway, "shop/stop", { n: 5 });
  await send(gateway, "shop/stop", { n: 0 });
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(
    requests.find(({ request }) => request.runId === zero)?.request.requestId,
  );
  expect(await ended(gateway, zero)).toMatchObject({ status: "CANCELLED", error: { code: "RUN_CANCELLED" } });
  const other = requests.find(({ request }) => request.runId === one);
  if (other) await worker.replied(other.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, one)).status).toBe("COMPLETED");
});

test("an event that lacks what cancelOn compares cancels no run, also of those that lack it as well", async () => {
  const gateway = await bench.gateway();
  const cancel = [{ event: "shop/stop", if: "event.data.id == async.data.id" }];
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", config: { cancel } }] });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await send(gateway, "shop/stop", {});
  // Once its waiters were notified the job for that is gone.
  const sql = postgres(bench.db.url, { max: 1 });
  await waitFor(async () => (await sql`SELECT 1 FROM queue WHERE kind = 'event'`).length === 0, {
    timeoutMs: 100_000,
    what: "the end of the job that notifies runs of the event",
  });
  await sql.end();
  await worker.replied(request, { status: "DONE", value: "went on" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
});

test.each([{ if: "event.orderId == async.orderId" }, { match: "orderId" }])(
  "cancelOn with %j is refused: it would cancel every run",
  async (condition) => {
    const gateway = await bench.gateway();
    const cancel = [{ event: "shop/stop", ...condition }];
    const options = { functions: [{ id: "order", event: "shop/order", config: { cancel } }] };
    await expect(bench.worker(gateway, options)).rejects.toThrow(/config_invalid/);
  },
);

test("a signal whose data could not be given to a worker is refused", async () => {
  const gateway = await bench.gateway();
  const deep = JSON.parse(`${"[".repeat(181)}${"]".repeat(181)}`);
  const { status, body } = await signal(gateway.url, "go", deep);
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: "BODY_INVALID", error: "`data` nests deeper than 180 levels." });
});

test("a wait by a field that no event has fails its step", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [forEvent("w", { if: "event.orderId == async.orderId" })] });
  const { payload } = await worker.request();
  expect(payload.steps.w).toMatchObject({ type: "error", error: { code: "EXPRESSION_INVALID" } });
});

test("cancelling a run through another gateway stops its handler", async () => {
  const [one, two] = [await bench.gateway(), await bench.gateway()];
  const worker = await bench.worker(one, { functions });
  const [runId = ""] = await start(one);
  const { request } = await worker.request();
  await call(two, `/v1/runs/${runId}/cancel`, { method: "POST" });
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(request.requestId);
});

test("the end of a run is an event that triggers functions and ends waits, up to a depth limit", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, {
    functions: [
      ...functions,
      { id: "watch", event: "inngest/function.failed" },
      { id: "all", event: "inngest/function.finished" },
    ],
  });
  const [waiter = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, {
    value: [
      op("WaitForEvent", "w", {
        name: "inngest/function.finished",
        opts: { timeout: "1h", if: "async.data.error.name == 'Bad'" },
      }),
    ],
  });
  await waits(gateway, waiter);
  const [runId = ""] = await start(gateway);
  const second = await worker.request();
  await worker.replied(second.request, {
    status: "DONE",
    noRetry: true,
    value: { name: "Bad", message: "no", extra: 1 },
  });
  const known = new Map<string, Payload>();
  for (let count = 0; count < 3; count += 1) {
    const { request, payload } = await worker.request();
    known.set(request.functionSlug, payload);
    await worker.replied(request, { status: "DONE", value: 1 });
  }
  const data = {
    function_id: "shop-order",
    run_id: runId,
    event: { name: "shop/order" },
    error: { name: "Bad", message: "no", error: "no", extra: 1 },
    _inngest: { status: "Failed" },
  };
  expect(known.get("shop-watch")?.event).toMatchObject({ id: runId, name: "inngest/function.failed", data });
  expect(known.get("shop-all")?.event).toMatchObject({ name: "inngest/function.finished", data });
  expect(known.get("shop-order")?.steps.w).toMatchObject({ data: { name: "inngest/function.finished", data } });
  expect((await triggered(gateway, runId)).length).toBe(26);
  // The waiter's own end tells once more; ends of the tellers do not.
  const last = await worker.request();
  expect(last.payload.event.data).toMatchObject({ run_id: waiter, result: 1, _inngest: { status: "Completed" } });
  await worker.replied(last.request, { status: "DONE", value: 1 });
  await waitFor(
    async () => ((await call(gateway, "/v1/metrics")) as { queue: { due: number; leased: number } }).queue.leased === 0,
    { what: "silence" },
  );
  expect(worker.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
});

test("what many steps of a run wait for is written together where it comes together", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: [], functions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const ids = Array.from({ length: 300 }, (_, n) => `w${n}`);
  const value = ids.map((id, n) => forEvent(id, { if: `async.data.n == ${n}` }));
  await worker.replied(request, { value });
  const events = ids.map((_, n) => ({ name: "shop/paid", data: { n } }));
  expect((await fetch(`${gateway.url}/e/dev`, { method: "POST", body: JSON.stringify(events) })).status).toBe(200);
  const steps = await finish(worker, runId);
  expect(Object.keys(steps).sort()).toEqual(ids.toSorted());
  for (const [n, id] of ids.entries()) expect(steps[id]).toMatchObject({ type: "data", data: { data: { n } } });
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  const [run] = await sql`SELECT version FROM holdfast.runs WHERE id = ${runId}`;
  // Each write of a run raises its version.
  expect(run?.version).toBeLessThan(ids.length / 4);
});
