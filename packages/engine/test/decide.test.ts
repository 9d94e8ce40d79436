import { HANDLER_END_ID, type Op, WIRE_LIMITS } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { checkpointRows } from "../src/decide/checkpoint.ts";
import { jsonRow, stepCompletedRow } from "../src/run/log-rows.ts";
import { requestPayload } from "../src/run/request-payload.ts";
import { forcesPlan } from "../src/run/run-state.ts";
import { FAILURE_KEY } from "../src/run/saga.ts";
import { done, failing, op, ops, planned, sleeping, undoable, World } from "./world.ts";

describe("The plain protocol", () => {
  test("a pass with one step stores the result and schedules the next pass", () => {
    const world = new World();
    world.pass(ops([done("a", { x: 1 })]));
    expect(world.state.memo.get("a")?.text).toBe('{"type":"data","data":{"x":1}}');
    expect(world.has("pass")).toBe(true);
    expect(world.state.requestVersion).toBe(2);
    world.pass({ status: "DONE", outputText: '{"ok":true}' });
    expect(world.state.status).toBe("COMPLETED");
    expect(world.kinds()).toEqual(["RUN_CREATED", "DISPATCHED", "STEP_COMPLETED a", "DISPATCHED", "RUN_COMPLETED"]);
  });

  test("parallel steps get one job each with forced planning, and the next pass follows the last of them", () => {
    const world = new World();
    world.pass(ops([planned("a"), planned("b"), sleeping("s", "1s")]));
    expect(world.has("pass")).toBe(false);
    expect([...world.state.pending]).toEqual(["a", "b", "s"]);
    expect(forcesPlan(world.state)).toBe(true);
    world.step("a", ops([done("a")]));
    world.timer("s");
    expect(world.has("pass")).toBe(false);
    world.step("b", ops([done("b")]));
    expect(world.has("pass")).toBe(true);
    expect(forcesPlan(world.state)).toBe(false);
    expect([...world.state.memo.keys()]).toEqual(["a", "s", "b"]);
  });

  test("steps that are planned again are not dispatched again", () => {
    const world = new World();
    world.pass(ops([planned("a", true), planned("b", true)]));
    world.step("a", ops([done("a")]));
    expect(world.has("pass")).toBe(true);
    const before = world.job("step", "b").id;
    world.pass(ops([planned("b", true), planned("c", true)]));
    expect(world.job("step", "b").id).toBe(before);
    expect(world.has("step", "c")).toBe(true);
    expect([...world.state.pending]).toEqual(["b", "c"]);
  });

  test("a run may have 1000 steps, counting finished and open ones, and no more", () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `s${index}`);
    const world = new World();
    world.pass(ops(ids.map((id) => planned(id))));
    world.step("s0", ops([done("s0")]));
    expect(world.state.status).not.toBe("FAILED");
    world.step("s1", ops([failing("s1")]));
    expect(world.state.status).not.toBe("FAILED");
    const more = new World();
    more.pass(ops([...ids, "one more"].map((id) => planned(id))));
    expect(more.state).toMatchObject({ status: "FAILED" });
  });

  test("in a race every completion schedules a pass, while the other steps continue", () => {
    const world = new World();
    world.pass(ops([planned("a", true), planned("b", true)]));
    world.step("b", ops([done("b")]));
    expect(world.has("pass")).toBe(true);
    expect(forcesPlan(world.state)).toBe(true);
    world.pass({ status: "DONE", outputText: '"b"' });
    expect(world.queue.size).toBe(0);
  });

  test("a pass that reports a step finished in the meantime is followed by another pass at once", () => {
    const world = new World();
    world.pass(ops([planned("a", true), planned("b", true)]));
    world.step("a", ops([done("a")]));
    // The pass is running with a in its memo; now b ends.
    world.step("b", ops([done("b")]));
    world.pass(ops([planned("b", true)]));
    expect(world.has("pass")).toBe(true);
  });

  test("under version 1 every completion schedules a pass, without a pending set and with planning forced permanently", () => {
    const world = new World();
    world.pass(ops([planned("a"), planned("b")], { requestVersion: 1 }));
    expect(world.state.pending.size).toBe(0);
    expect(forcesPlan(world.state)).toBe(true);
    world.step("a", ops([done("a")], { requestVersion: 1 }));
    expect(world.has("pass")).toBe(true);
    world.step("b", ops([done("b")], { requestVersion: 1 }));
    expect(forcesPlan(world.state)).toBe(true);
  });

  test("a failed step is retried with the next attempt, then fails permanently, and the handler may catch it", () => {
    const world = new World({ maxAttempts: 2 });
    world.pass(ops([failing("a")]));
    expect(world.job("pass")).toMatchObject({ attempt: 1, dueMs: world.nowMs + 1000 });
    world.nowMs += 1000;
    world.pass(ops([failing("a")]));
    expect(world.state.memo.get("a")?.text).toContain('{"type":"error","error":{"name":"Error"');
    expect(world.job("pass").attempt).toBe(0);
  });

  test.each([
    ["pass", 4, 4],
    ["step", 4, 4],
    ["pass", 1, 2],
    ["step", undefined, 2],
  ] as const)("a step that a %s reports with %s attempts has %i in all, where its function has 2", (kind, own, all) => {
    const world = new World({ maxAttempts: 2 });
    const failed: Op = { ...failing("a"), ...(own === undefined ? {} : { maxAttempts: own }) };
    if (kind === "step") world.pass(ops([planned("a"), planned("b")]));
    let tried = 0;
    while (!world.state.memo.has("a")) {
      tried += 1;
      world.nowMs = Math.max(world.nowMs, world.job(kind, kind === "step" ? "a" : "").dueMs);
      if (kind === "step") world.step("a", ops([failed]));
      else world.pass(ops([failed]));
    }
    expect(tried).toBe(all);
  });

  test("a planned step that fails has its own attempts", () => {
    const world = new World({ maxAttempts: 3 });
    world.pass(ops([planned("a"), planned("b")]));
    world.step("a", ops([failing("a")]));
    expect(world.job("step", "a").attempt).toBe(1);
    expect(world.job("step", "b").attempt).toBe(0);
    world.step("b", ops([done("b")]));
    expect(world.has("pass")).toBe(false);
    world.step("a", ops([failing("a")], { noRetry: true }));
    expect(world.has("pass")).toBe(true);
    expect(world.state.memo.get("a")?.text).toContain('"type":"error"');
  });

  test.each([
    [3, [1000, 2000]],
    [4, [1000, 2000, 4000]],
    [5, [1000, 2000, 4000, 8000]],
  ])(
    "with %d attempts the delays between them are %j ms for a step, a planned step and the handler",
    (attempts, waits) => {
      const retried = (kind: "pass" | "step", fail: (world: World) => unknown): number[] => {
        const world = new World({ maxAttempts: attempts });
        if (kind === "step") world.pass(ops([planned("a"), planned("b")]));
        const waited: number[] = [];
        for (let attempt = 1; ; attempt += 1) {
          fail(world);
          const key = kind === "step" ? "a" : "";
          if (!world.has(kind, key) || world.job(kind, key).attempt !== attempt) return waited;
          waited.push(world.job(kind, key).dueMs - world.nowMs);
          world.nowMs = world.job(kind, key).dueMs;
        }
      };
      const error = { name: "Error", message: "no" };
      expect(retried("pass", (world) => world.pass(ops([failing("a")])))).toEqual(waits);
      expect(retried("step", (world) => world.step("a", ops([failing("a")])))).toEqual(waits);
      expect(retried("pass", (world) => world.pass({ status: "ERROR", error }))).toEqual(waits);
    },
  );

  test("retry_after sets the delay of the next attempt", () => {
    const world = new World();
    world.pass(ops([failing("a")], { retryAfterMs: 90_000 }));
    expect(world.job("pass").dueMs).toBe(world.nowMs + 90_000);
  });

  test("a handler that throws is retried, and the run fails after its last attempt", () => {
    const world = new World({ maxAttempts: 2 });
    world.pass({ status: "ERROR", error: { name: "Error", message: "no" } });
    expect(world.job("pass").attempt).toBe(1);
    world.nowMs += 1000;
    world.pass({ status: "ERROR", error: { name: "Error", message: "no again" } });
    expect(world.state.status).toBe("FAILED");
  });

  test("an error with no_retry fails the run at once", () => {
    const world = new World();
    const decision = world.pass({ status: "FAILED", error: { name: "NonRetriableError", message: "stop" } });
    expect(decision?.head).toMatchObject({
      status: "FAILED",
      errorJson: '{"name":"NonRetriableError","message":"stop"}',
    });
  });

  test("an unsupported op fails the run with a code instead of leaving it waiting", () => {
    const world = new World();
    const decision = world.pass(ops([op("SyncRunComplete", "w", { data: 1 })]));
    expect(decision?.head.errorJson).toContain("OP_UNSUPPORTED");
    expect(world.queue.size).toBe(0);
  });

  test("RunComplete ends the run and keeps the steps reported beside it", () => {
    const world = new World();
    world.pass(ops([done("a"), op("RunComplete", "x", { data: { ok: 1 } })]));
    expect(world.state.status).toBe("COMPLETED");
    expect(world.state.memo.has("a")).toBe(true);
  });

  test("an empty report delays the next pass", () => {
    const world = new World();
    world.pass(ops([]));
    expect(world.job("pass").dueMs).toBe(world.nowMs + 1000);
  });

  test("a sleep may be a duration or an instant; one that cannot be waited for fails its step", () => {
    const world = new World();
    world.pass(ops([sleeping("s", "1m30s"), sleeping("u", "1970-02-01T00:00:00.000Z"), sleeping("z", "")]));
    expect(world.job("timer", "s").dueMs).toBe(world.nowMs + 90_000);
    expect(world.job("timer", "u").dueMs).toBe(Date.parse("1970-02-01T00:00:00Z"));
    expect(world.job("timer", "z").dueMs).toBe(world.nowMs);
    const tooFar = "more than 366 days ahead";
    const waits = { soon: "neither a duration nor an instant", "9000h": tooFar, "1980-01-01T00:00:00.000Z": tooFar };
    for (const [text, problem] of Object.entries(waits)) {
      const other = new World();
      other.pass(ops([sleeping("s", text)]));
      const why = JSON.stringify(other.state.memo.get("s"));
      expect(why).toContain("OP_INVALID");
      expect(why).toContain(problem);
      expect(other.job("pass"), "the handler may catch it").toBeDefined();
    }
  });

  test.each([
    ["WaitForEvent", { name: "go\ud83d" }],
    ["WaitForSignal", { opts: { signal: "go\ud83d" } }],
  ] as const)("a %s for a name with half a character fails its step, as nothing could end it", (kind, more) => {
    const world = new World();
    world.pass(ops([op(kind, "w", more)]));
    expect(JSON.stringify(world.state.memo.get("w"))).toContain("half of a surrogate pair");
  });
});

describe("In-place execution", () => {
  test("parked steps end the pass, and the earliest due one starts the next pass", () => {
    const world = new World({ maxAttempts: 5 });
    world.pass(
      ops([sleeping("s", "10s"), failing("a", { attempt: 0 }), failing("b", { attempt: 0, retryAfter: "5" })]),
      true,
    );
    expect(world.state.pending.size).toBe(0);
    expect(forcesPlan(world.state)).toBe(false);
    expect(world.job("pass").dueMs).toBe(world.nowMs + 1000);
    world.nowMs += 1000;
    // a works now and was checkpointed; b is not due, s sleeps on.
    world.write([
      { kind: "STEP_COMPLETED", key: "a", attempt: 0, iteration: 0, dataJson: '{"step":{"op":"StepRun"},"data":1}' },
    ]);
    world.pass(ops([sleeping("s", "10s"), planned("b")]), true);
    expect(world.job("pass").dueMs).toBe(world.nowMs + 4000);
    expect(world.has("step", "b")).toBe(false);
  });

  test("a failed step that the function no longer reaches is retried ever more rarely, and not forgotten", () => {
    const world = new World({ maxAttempts: 5 });
    world.pass(ops([sleeping("s", "8760h"), failing("a", { attempt: 0 })]), true);
    const waits: number[] = [];
    for (let passes = 0; passes < 20; passes += 1) {
      const { dueMs } = world.job("pass");
      waits.push(dueMs - world.nowMs);
      world.nowMs = dueMs;
      world.pass(ops([sleeping("s", "8760h")]), true);
      expect(world.reread()).toEqual(world.state);
    }
    expect(waits.slice(0, 4).map((ms) => ms >= 800 && ms <= 10_000)).toEqual([true, true, true, true]);
    expect(waits[6]).toBeGreaterThan(20_000);
    expect(waits.at(-1)).toBeGreaterThan(2_000_000);
    expect(waits.at(-1)).toBeLessThanOrEqual(4_320_000);
    // It is asked for again: with its next attempt, and in its own time.
    world.nowMs = world.job("pass").dueMs;
    world.pass(ops([sleeping("s", "8760h"), failing("a", { attempt: 1 })]), true);
    expect(world.state.attempts.get("a")).toBe(2);
    expect(world.job("pass").dueMs - world.nowMs).toBeLessThanOrEqual(2000);
    expect(world.state.missed).toBe(0);
  });

  test("while one step is missing, the steps that are still reached keep their due time", () => {
    const world = new World({ maxAttempts: 5 });
    world.pass(ops([failing("a", { attempt: 0 }), failing("b", { attempt: 0, retryAfter: "5" })]), true);
    world.nowMs = world.job("pass").dueMs;
    for (let passes = 0; passes < 2; passes += 1) world.pass(ops([planned("b")]), true);
    expect(world.job("pass").dueMs).toBeLessThanOrEqual(1_005_000);
    world.nowMs = 1_004_500;
    world.pass(ops([planned("b")]), true);
    expect(world.job("pass").dueMs).toBe(1_005_000);
  });

  test("the end of a sleep brings a delayed pass forward", () => {
    const world = new World({ maxAttempts: 5 });
    world.pass(ops([sleeping("s", "1s"), failing("a", { attempt: 0, retryAfter: "60" })]), true);
    const delayed = world.job("pass");
    world.nowMs += 1000;
    world.timer("s");
    expect(world.job("pass").id).not.toBe(delayed.id);
    expect(world.job("pass").dueMs).toBe(world.nowMs);
    // The failed step keeps its due time.
    world.pass(ops([failing("a", { attempt: 0 })]), true);
    expect(world.job("pass").dueMs).toBe(world.nowMs - 1000 + 60_000);
    expect(world.state.attempts.get("a")).toBe(1);
  });

  test("a pass that is about to be due is not moved: another gateway may have claimed it", () => {
    const world = new World({ maxAttempts: 5 });
    world.pass(ops([sleeping("s", "1s"), failing("a", { attempt: 0, retryAfter: "2" })]), true);
    const { id } = world.job("pass");
    // By our reckoning it is due in 800 ms; the database may be ahead of that.
    world.nowMs += 1200;
    world.timer("s");
    expect(world.job("pass").id).toBe(id);
  });

  test("a sleep that ended during the pass schedules another pass at once", () => {
    const world = new World();
    world.pass(ops([sleeping("s", "1s"), sleeping("t", "1m")]), true);
    world.nowMs += 1000;
    world.timer("s");
    world.pass(ops([sleeping("s", "1s"), sleeping("t", "1m")]), true);
    expect(world.has("pass")).toBe(true);
    world.pass(ops([sleeping("t", "1m")]), true);
    expect(world.has("pass")).toBe(false);
    expect(world.state.status).toBe("WAITING");
    expect(world.kinds().at(-1)).toBe("PASS_REPORTED");
  });

  test("new planned steps are dispatched in place as on the plain protocol", () => {
    const world = new World();
    world.pass(ops([planned("a"), planned("b")]), true);
    expect([...world.state.pending]).toEqual(["a", "b"]);
    expect(world.has("step", "a")).toBe(true);
  });

  test("a failure that a checkpoint has stored counts once, also beside steps that are planned anew", () => {
    const world = new World({ maxAttempts: 2 });
    world.write([jsonRow("STEP_ATTEMPT_FAILED", "a", 0, 0, { step: { op: "StepError" }, delayMs: 5000 })]);
    // The worker was not told that it was stored, so its reply has it again.
    world.pass(ops([done("b"), failing("a", { attempt: 0 }), planned("c")]), true);
    expect(world.state.attempts.get("a")).toBe(1);
    expect(world.kinds()).not.toContain("STEP_FAILED a");
    expect(world.has("step", "c")).toBe(true);
    expect(world.job("pass").dueMs).toBe(world.nowMs + 5000);
    world.step("c", ops([done("c")]));
    world.nowMs += 5000;
    world.pass(ops([failing("a", { attempt: 1 })]), true);
    expect(world.kinds()).toContain("STEP_FAILED a");
  });

  test("consecutive losses are counted for each job separately until it makes progress", () => {
    const world = new World();
    const lost = (key: string, epoch: number) =>
      ({ kind: "LEASE_LOST", key, attempt: 0, iteration: epoch, dataJson: "{}" }) as const;
    const pass = world.job("pass").id;
    world.write([lost(pass, 1), lost("other", 1), lost(pass, 2)]);
    expect([...world.state.losses]).toEqual([
      [pass, 2],
      ["other", 1],
    ]);
    world.write([
      { kind: "STEP_COMPLETED", key: "a", attempt: 0, iteration: 0, dataJson: '{"step":{"op":"StepRun"},"data":1}' },
    ]);
    expect(world.state.losses.size).toBe(0);
  });

  test("cancelling a run ends it and removes all its jobs", () => {
    const world = new World();
    world.pass(ops([planned("a"), planned("b")]));
    world.decide({ type: "cancel", reason: "asked" });
    expect(world.state.status).toBe("CANCELLED");
    expect(world.queue.size).toBe(0);
  });
});

describe("A report with the end of its handler", () => {
  const ending = (name: "RunComplete" | "StepError" | "StepFailed", more: Partial<Op>): Op => ({
    id: HANDLER_END_ID,
    op: name,
    ...more,
  });
  const error = { name: "Error", message: "no" };

  test("the last results and the value are one decision", () => {
    const world = new World();
    const decision = world.pass(ops([done("a"), done("b"), ending("RunComplete", { data: [1] })]), true);
    expect(decision?.log.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      "STEP_COMPLETED a",
      "STEP_COMPLETED b",
      "RUN_COMPLETED ",
    ]);
    expect(decision).toMatchObject({ head: { status: "COMPLETED", outputJson: "[1]" }, removeJobs: "all" });
  });

  test("results that a checkpoint has stored meanwhile stay as they are", () => {
    const world = new World();
    world.write([stepCompletedRow("a", { op: "StepRun" }, '"stored"')]);
    const decision = world.pass(ops([done("a", "again"), ending("RunComplete", { data: 1 })]), true);
    expect(decision?.log.map(({ kind }) => kind)).toEqual(["RUN_COMPLETED"]);
    expect(world.state.memo.get("a")?.text).toContain("stored");
  });

  test("a failure that is tried again keeps the results, and its time", () => {
    const world = new World();
    world.pass(ops([done("a"), ending("StepError", { error, retryAfter: "7" })]), true);
    expect(world.state.memo.has("a")).toBe(true);
    expect(world.kinds()).toContain("PASS_FAILED");
    expect(world.job("pass")).toMatchObject({ attempt: 1, dueMs: world.nowMs + 7000 });
  });

  test("a permanent failure undoes what was reported with it", () => {
    const world = new World();
    world.pass(ops([undoable("a"), ending("StepFailed", { error })]), true);
    expect(world.state.status).toBe("RUNNING");
    expect([...world.state.memo.keys()]).toEqual(["a", FAILURE_KEY]);
  });

  test("the limits of a run and of a value are those of ends that come alone", () => {
    const large = new World();
    const data = "x".repeat(WIRE_LIMITS.maxOutputBytes - 1);
    const decision = large.pass(ops([done("a"), ending("RunComplete", { data })]), true);
    expect(decision?.head).toMatchObject({ status: "FAILED" });
    expect(decision?.head.errorJson).toContain("STEP_RESULT_TOO_LARGE");
    const long = new World();
    const steps = Array.from({ length: long.context().maxSteps + 1 }, (_, at) => done(`s${at}`));
    expect(long.pass(ops([...steps, ending("RunComplete", { data: 1 })]), true)?.head.errorJson).toContain(
      "RUN_TOO_LARGE",
    );
  });

  test("a step whose result is too large has failed, with no other attempt", () => {
    for (const inPlace of [true, false]) {
      const world = new World();
      world.pass(ops([done("a", "x".repeat(WIRE_LIMITS.maxOutputBytes - 1)), done("b")]), inPlace);
      expect(world.state.memo.get("a")?.text).toContain("STEP_RESULT_TOO_LARGE");
      expect(world.state.memo.get("b")?.text).toBe('{"type":"data","data":"b"}');
      expect(world.has("pass")).toBe(true);
      const fits = new World();
      fits.pass(ops([done("a", "x".repeat(WIRE_LIMITS.maxOutputBytes - 2))]), inPlace);
      expect(fits.state.memo.get("a")?.text).toMatch(/^{"type":"data"/);
    }
  });

  test("a checkpoint with a result that is too large is refused whole, so that a reply says it", () => {
    const world = new World();
    const large = done("b", "x".repeat(WIRE_LIMITS.maxOutputBytes - 1));
    const refused = checkpointRows(world.state, [done("a"), large], world.context());
    expect(refused).toEqual({ ok: false, message: expect.stringContaining('Step "b" returned 4194305 bytes') });
  });

  test("results that the handler has gone on over ask for no pass, and others do", () => {
    const world = new World();
    world.pass(ops([{ ...done("a"), seen: true }, sleeping("s", "10s")]), true);
    expect(world.state.memo.has("a")).toBe(true);
    expect(world.has("pass")).toBe(false);
    expect(world.has("timer", "s")).toBe(true);
    const unseen = new World();
    unseen.pass(ops([done("a"), sleeping("s", "10s")]), true);
    expect(unseen.has("pass")).toBe(true);
    const plain = new World();
    plain.pass(ops([{ ...done("a"), seen: true }]));
    expect(plain.has("pass")).toBe(true);
  });
});

test("workers that may look ahead are told how often their work was lost, and others are not", () => {
  const world = new World();
  const { id: jobId } = world.job("pass");
  const options = {
    requestId: "r",
    jobId,
    queueItem: "q",
    attempt: 0,
    stepId: "step",
    functionUuid: null,
    inPlace: true,
    looksAhead: true,
    nowMs: 0,
  };
  const losses = (more: Partial<typeof options> = {}): unknown =>
    JSON.parse(new TextDecoder().decode(requestPayload(world.state, { ...options, ...more }))).ctx.holdfast.losses;
  expect(losses()).toBeUndefined();
  for (const epoch of [1, 2]) world.write([jsonRow("LEASE_LOST", jobId, 0, epoch, {})]);
  expect([losses(), losses({ looksAhead: false })]).toEqual([2, undefined]);
});
