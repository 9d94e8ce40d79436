import { createHash } from "node:crypto";
import postgres from "postgres";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, op, runDetail, send, start, triggered, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const sha1 = (id: string): string => createHash("sha1").update(id).digest("hex");
const NO = { name: "Error", message: "no" };

interface Made {
  readonly runId: string;
  readonly code?: string;
  readonly error?: string;
  readonly status?: number;
}

const post = async (gateway: Gateway, path: string, body?: object): Promise<Made> =>
  (await call(gateway, path, { method: "POST", ...(body ? { body: JSON.stringify(body) } : {}) })) as Made;
const order = (more: object = {}) => ({ functions: [{ id: "order", event: "shop/order", ...more }] });

/** The next request is of this run, and its worker replies so. */
async function answer(worker: RawWorker, runId: string, reply: Parameters<RawWorker["replied"]>[1]) {
  const next = await worker.request();
  expect(next.request.runId).toBe(runId);
  await worker.replied(next.request, reply);
  return next.payload;
}

test("a rerun is a new run of the same event, with its origin on record", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await answer(worker, runId, { value: [did("a")] });
  await answer(worker, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const made = await post(gateway, `/v1/runs/${runId}/rerun`);
  expect(made.runId).not.toBe(runId);
  const again = await answer(worker, made.runId, { status: "DONE", value: 2 });
  expect(again.event).toEqual(first.event);
  expect(again.steps).toEqual({});
  const run = await ended(gateway, made.runId);
  expect(run).toMatchObject({
    rerunOf: runId,
    forkedFrom: null,
    output: 2,
    eventId: (await runDetail(gateway, runId)).eventId,
  });
  const event = (await call(gateway, `/v1/events/${run.eventId}`)) as { runIds: string[] };
  expect(event.runIds).toEqual([runId, made.runId]);
});

test("a fork keeps what had ended before its step, and has the step's new result", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  await answer(worker, runId, { value: [did("a"), did("b"), did("c")] });
  await answer(worker, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const again = await post(gateway, `/v1/runs/${runId}/fork`, { step: "b" });
  expect((await answer(worker, again.runId, { value: [did("b", 2)] })).steps).toEqual({
    a: { type: "data", data: "a" },
  });
  await answer(worker, again.runId, { status: "DONE", value: 1 });
  const edited = await post(gateway, `/v1/runs/${runId}/fork`, { step: "b", result: { large: "x" } });
  const payload = await answer(worker, edited.runId, { status: "DONE", value: 3 });
  expect(payload.steps).toEqual({ a: { type: "data", data: "a" }, b: { type: "data", data: { large: "x" } } });
  expect(payload.ctx.stack.stack).toEqual(["a", "b"]);
  const run = await ended(gateway, edited.runId);
  expect(run).toMatchObject({ forkedFrom: { runId, step: "b" }, rerunOf: null, output: 3 });
  expect(run.steps).toMatchObject([
    { name: "a", status: "completed", kept: true },
    { name: "b", status: "completed", kept: true, edited: true, output: { large: "x" } },
  ]);
  // A fork is a run like any other.
  const further = await post(gateway, `/v1/runs/${edited.runId}/fork`, { step: "b" });
  await answer(worker, further.runId, { status: "DONE", value: 4 });
  await ended(gateway, further.runId);
});

test("a run that failed goes on after its last finished step, again and again, and its failed step has new attempts", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, order({ retries: 0 }));
  const [runId = ""] = await start(gateway);
  const fail = async () => {
    const { steps, ctx } = await answer(worker, runId, { value: [op("StepFailed", "b", { error: NO })] });
    expect([Object.keys(steps), ctx.attempt]).toEqual([["a"], 0]);
    await answer(worker, runId, { status: "DONE", noRetry: true, value: NO });
    expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: NO });
  };
  await answer(worker, runId, { value: [did("a")] });
  await fail();
  for (let round = 0; round < 2; round += 1) {
    expect(await post(gateway, `/v1/runs/${runId}/resume`)).toMatchObject({ run: { status: "RUNNING", error: null } });
    await fail();
  }
  await post(gateway, `/v1/runs/${runId}/resume`);
  expect(Object.keys((await answer(worker, runId, { value: [did("b")] })).steps)).toEqual(["a"]);
  await answer(worker, runId, { status: "DONE", value: "over" });
  const { steps, ...run } = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "COMPLETED", output: "over" });
  for (const step of steps) expect(step).not.toHaveProperty("error");
  expect(await post(gateway, `/v1/runs/${runId}/resume`)).toMatchObject({ code: "RUN_NOT_RESUMABLE", status: 409 });
});

test("a cancelled run goes on, also when it is cancelled once more; another gateway that had it learns of that", async () => {
  const [one, two] = [await bench.gateway(), await bench.gateway()];
  const worker = await bench.worker(one);
  const [runId = ""] = await start(one);
  await answer(worker, runId, { value: [did("a"), op("Sleep", "s", { name: "1h" })] });
  for (const gateway of [one, two]) {
    expect(await post(gateway, `/v1/runs/${runId}/cancel`)).toMatchObject({ cancelled: true });
    expect(await post(gateway === one ? two : one, `/v1/runs/${runId}/resume`)).toMatchObject({ runId });
    const payload = await answer(worker, runId, { value: [op("Sleep", "s", { name: "1h" })] });
    expect(Object.keys(payload.steps)).toEqual(["a"]);
  }
  await post(one, `/v1/runs/${runId}/cancel`);
  await ended(two, runId);
});

test("what another gateway says late of a run's end stops nothing of the run that was resumed meanwhile", async () => {
  const [gateway, another] = [await bench.gateway(), await bench.gateway()];
  const worker = await bench.worker(gateway);
  const [runId = "", otherId = ""] = await start(gateway, 2);
  const first = await worker.frame("GATEWAY_EXECUTOR_REQUEST", (one) => one.runId === runId);
  const other = await worker.frame("GATEWAY_EXECUTOR_REQUEST", (one) => one.runId === otherId);
  const cancelled = async (request: typeof first) =>
    await worker.frame("GATEWAY_CANCEL", ({ requestId }) => requestId === request.requestId);
  await post(gateway, `/v1/runs/${runId}/cancel`);
  await cancelled(first);
  await post(gateway, `/v1/runs/${runId}/resume`);
  const { request } = await worker.request();
  // A gateway whose connections to the database are busy or lost for a while tries for up to a minute.
  const sql = postgres(bench.db.url, { max: 1 });
  const late = { from: "another", wakes: [{ type: "RUNS_ENDED", runIds: [runId] }] };
  await sql`select pg_notify('holdfast_wake', ${JSON.stringify(late)})`;
  await sql.end();
  // This comes after it, by the same way.
  await post(another, `/v1/runs/${otherId}/cancel`);
  await cancelled(other);
  await worker.replied(request, { status: "DONE", value: "over" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: "over", leasesLost: 0 });
  expect(worker.frames.filter(({ kind }) => kind === "GATEWAY_CANCEL")).toEqual([]);
});

test("a run whose steps were undone is not resumed, and forked from no later step", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, order({ retries: 0 }));
  const [runId = ""] = await start(gateway);
  const charge = op("StepRun", "charge", { data: 1, userland: { id: "charge" }, opts: { compensate: true } });
  await answer(worker, runId, { value: [charge, did("mail")] });
  await answer(worker, runId, { status: "ERROR", value: NO });
  expect(await post(gateway, `/v1/runs/${runId}/fork`, { step: "mail" })).toMatchObject({ code: "RUN_NOT_ENDED" });
  await answer(worker, runId, { value: [op("StepRun", sha1("holdfast/compensate:charge"), { data: null })] });
  await answer(worker, runId, { status: "DONE", noRetry: true, value: NO });
  await ended(gateway, runId);
  const refused = { code: "RUN_UNDONE", status: 409, error: expect.stringMatching(/from "charge" or from an earlier/) };
  expect(await post(gateway, `/v1/runs/${runId}/resume`)).toMatchObject(refused);
  expect(await post(gateway, `/v1/runs/${runId}/fork`, { step: "mail" })).toMatchObject(refused);
  const made = await post(gateway, `/v1/runs/${runId}/fork`, { step: "charge" });
  expect((await answer(worker, made.runId, { status: "DONE", value: 1 })).steps).toEqual({});
  await ended(gateway, made.runId);
});

test("resumed and new runs are for the newest version, or for the one that is asked for", async () => {
  const gateway = await bench.gateway({ versionPolicy: "strict" });
  const old = await bench.worker(gateway, { appVersion: "1" });
  const [runId = ""] = await start(gateway);
  await answer(old, runId, { value: [did("a")] });
  await answer(old, runId, { status: "DONE", noRetry: true, value: NO });
  await ended(gateway, runId);
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await post(gateway, `/v1/runs/${runId}/resume`);
  expect(Object.keys((await answer(fresh, runId, { status: "DONE", noRetry: true, value: NO })).steps)).toEqual(["a"]);
  expect(await ended(gateway, runId)).toMatchObject({ appVersion: "2" });
  await post(gateway, `/v1/runs/${runId}/resume`, { appVersion: "1" });
  await answer(old, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  for (const [body, worker, version] of [
    [{ step: "a" }, fresh, "2"],
    [{ step: "a", appVersion: "newest" }, fresh, "2"],
    [{ step: "a", appVersion: "same" }, old, "1"],
    [{ step: "a", appVersion: "1" }, old, "1"],
  ] as const) {
    const made = await post(gateway, `/v1/runs/${runId}/fork`, body);
    await answer(worker, made.runId, { status: "DONE", value: 1 });
    expect(await ended(gateway, made.runId)).toMatchObject({ appVersion: version });
  }
  const unknown = await post(gateway, `/v1/runs/${runId}/rerun`, { appVersion: "3" });
  expect(unknown).toMatchObject({ code: "BODY_INVALID", error: expect.stringContaining('"2", "1"') });
});

test("limits hold back a rerun as any run: a singleton refuses it, an idempotency key does not", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(
    gateway,
    order({ config: { singleton: { mode: "skip" }, idempotency: "event.name" } }),
  );
  const [runId = ""] = await start(gateway);
  expect(await post(gateway, `/v1/runs/${runId}/rerun`)).toMatchObject({
    code: "RUN_SKIPPED",
    error: expect.stringContaining("singleton"),
  });
  await answer(worker, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const made = await post(gateway, `/v1/runs/${runId}/rerun`);
  expect(await post(gateway, `/v1/runs/${runId}/rerun`)).toMatchObject({ code: "RUN_SKIPPED" });
  await answer(worker, made.runId, { status: "DONE", value: 1 });
  await ended(gateway, made.runId);
});

test("a rerun counts in a rate limit, and is not debounced", async () => {
  const gateway = await bench.gateway();
  const limits = { rateLimit: { limit: 2, period: "24h" } };
  const worker = await bench.worker(gateway, order({ config: limits }));
  const [runId = ""] = await start(gateway);
  await answer(worker, runId, { status: "DONE", value: 1 });
  const { runId: second } = await post(gateway, `/v1/runs/${runId}/rerun`);
  await answer(worker, second, { status: "DONE", value: 1 });
  const refused = await post(gateway, `/v1/runs/${runId}/rerun`);
  expect(refused).toMatchObject({ code: "RUN_SKIPPED", error: expect.stringContaining("rate limit") });
});

test("a run of a batch is run again with all of its events", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, order({ config: { batchEvents: { maxSize: 2, timeout: "60s" } } }));
  const one = await send(gateway, "shop/order", { n: 1 });
  await send(gateway, "shop/order", { n: 2 });
  const first = await worker.request();
  const runId = first.request.runId;
  expect(await triggered(gateway, one)).toBe(runId);
  await worker.replied(first.request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const made = await post(gateway, `/v1/runs/${runId}/rerun`);
  const again = await answer(worker, made.runId, { status: "DONE", value: 1 });
  expect(again.events).toEqual(first.payload.events);
  expect(again.events).toHaveLength(2);
});

test("a run is deleted with its log and its event, which may be sent again", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const event = { id: "once", name: "shop/order", data: {} };
  const sent = async () => {
    const { ids } = (await call(gateway, "/e/test", { method: "POST", body: JSON.stringify(event) })) as {
      ids: string[];
    };
    return ids[0] ?? "";
  };
  const eventId = await sent();
  const runId = await triggered(gateway, eventId);
  const remove = (id: string, query = "") => call(gateway, `/v1/runs/${id}${query}`, { method: "DELETE" });
  expect(await remove(runId)).toMatchObject({ code: "RUN_NOT_ENDED", status: 409 });
  await answer(worker, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const made = await post(gateway, `/v1/runs/${runId}/rerun`);
  expect(await runDetail(gateway, runId)).toMatchObject({
    descendants: [{ runId: made.runId, kind: "rerun", step: null }],
  });
  expect(await sent()).toBe(eventId);
  // The event is the rerun's, too.
  expect(await remove(runId)).toEqual({ deleted: true, runId });
  expect(await remove(runId)).toMatchObject({ code: "NOT_FOUND" });
  expect(await call(gateway, `/v1/runs/${runId}`)).toMatchObject({ code: "NOT_FOUND" });
  expect(await call(gateway, `/v1/events/${eventId}`)).toMatchObject({ runIds: [made.runId] });
  expect(await runDetail(gateway, made.runId)).toMatchObject({ rerunOf: runId });
  expect(await remove(made.runId, "?cancel=1")).toEqual({ deleted: true, runId: made.runId });
  expect(await call(gateway, `/v1/events/${eventId}`)).toMatchObject({ code: "NOT_FOUND" });
  expect(await sent()).not.toBe(eventId);
});

test("a worker that has a run which is deleted is told to stop, and what it reports changes nothing", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await call(gateway, `/v1/runs/${runId}?cancel=1`, { method: "DELETE" });
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(request.requestId);
  worker.checkpoint(request, 1, [did("late")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).not.toMatchObject({ outcome: "STORED" });
  await worker.replied(request, { status: "DONE", value: 1 });
  expect(await call(gateway, `/v1/runs/${runId}`)).toMatchObject({ code: "NOT_FOUND" });
});

test("what cannot be done is refused in a sentence that says how to do it", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  await answer(worker, runId, { value: [did("load"), did("charge")] });
  await answer(worker, runId, { status: "DONE", value: 1 });
  await ended(gateway, runId);
  const fork = (body: object) => post(gateway, `/v1/runs/${runId}/fork`, body);
  expect(await fork({ step: "chrage" })).toMatchObject({
    code: "STEP_UNKNOWN",
    status: 404,
    error: expect.stringContaining('It has "load", "charge".'),
  });
  for (const body of [{}, { step: 1 }, { step: "load", reslt: 1 }, { step: "load", appVersion: 7 }, []]) {
    expect([body, await fork(body)]).toMatchObject([body, { code: "BODY_INVALID", status: 400 }]);
  }
  for (const verb of ["rerun", "fork", "resume"]) {
    const nowhere = await post(
      gateway,
      `/v1/runs/01JZ0000000000000000000000/${verb}`,
      verb === "fork" ? { step: "a" } : {},
    );
    expect(nowhere).toMatchObject({ code: "NOT_FOUND", status: 404 });
  }
});
