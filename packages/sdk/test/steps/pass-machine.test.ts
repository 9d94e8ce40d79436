import { createDriver } from "@holdfast/core";
import type { CheckpointOutcome } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { MAX_BATCH_BYTES, MAX_REPEATED_BYTES } from "../../src/steps/in-place-machine.ts";
import { initialPass } from "../../src/steps/open-pass.ts";
import { passStep } from "../../src/steps/pass-machine.ts";
import type {
  FoundStep,
  HandlerEnd,
  OpText,
  PassEffect,
  PassEvent,
  PassMode,
  PassReply,
  PassState,
} from "../../src/steps/pass-types.ts";

const op = (hash: string, bytes = 10): OpText => ({ hash, text: `{"id":"${hash}"}`, bytes });
const body = (hash: string): FoundStep => ({ hash, hasBody: true });
const wait = (hash: string): FoundStep => ({ hash, hasBody: false });
const finished = (of: OpText): PassEvent => ({ type: "finished", op: of, maySettle: true });
const returned: HandlerEnd = { type: "returned", body: "1" };
const failed = (final: boolean): HandlerEnd => ({ type: "failed", body: "{}", final });

function machine(mode: PassMode, recorded = 0) {
  const effects: PassEffect[] = [];
  const driver = createDriver<PassState, PassEvent, PassEffect>({
    initial: initialPass(mode, recorded),
    step: passStep,
    run: (effect) => void effects.push(effect),
    nowMs: () => 0,
  });
  return {
    driver,
    effects,
    send: (event: PassEvent): PassEffect[] => {
      const from = effects.length;
      driver.send(event);
      return effects.slice(from);
    },
    serial: () => (driver.state.phase === "open" ? driver.state.serial : -1),
    reply: (): PassReply | undefined => effects.flatMap((effect) => (effect.do === "reply" ? [effect.reply] : []))[0],
  };
}

const IN_PLACE: PassMode = { type: "in-place", looksAhead: false };
const LOOKING_AHEAD: PassMode = { type: "in-place", looksAhead: true };

describe("Pass machine in place", () => {
  test("PASS-1: due bodies start, other steps are parked and reported while bodies run", () => {
    const pass = machine(IN_PLACE);
    expect(pass.send({ type: "found", step: body("a"), due: true })).toEqual([{ do: "start", step: body("a") }]);
    expect(pass.send({ type: "found", step: body("c"), due: true })).toEqual([{ do: "start", step: body("c") }]);
    expect(pass.send({ type: "found", step: body("b"), due: false })).toEqual([]);
    expect(pass.send({ type: "found", step: wait("s"), due: true })).toEqual([{ do: "flush-soon" }]);
    const sleep = { type: "step", step: wait("s") } as const;
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [], parked: [sleep] }]);
    expect(pass.send({ type: "failed", op: op("a"), final: false })).toEqual([]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([{ do: "flush-soon" }]);
    const failed = { type: "op", op: op("a"), final: false } as const;
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [], parked: [failed] }]);
    // What was told once is not told again before the end.
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([]);
    expect(pass.send(finished(op("c")))).toEqual([{ do: "flush-soon" }]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("c")], parked: [] }]);
    pass.send({ type: "answered", outcome: "stored" });
    pass.send({ type: "quiet", serial: pass.serial() });
    expect(pass.reply()).toMatchObject({
      type: "ops",
      finished: [],
      reports: [{ step: body("b") }, { step: wait("s") }, { op: op("a") }],
    });
  });

  test("PASS-1: steps parked while nothing runs cost no separate checkpoint", () => {
    const pass = machine(IN_PLACE);
    expect(pass.send({ type: "found", step: wait("s"), due: true })).toEqual([{ do: "watch", serial: pass.serial() }]);
    pass.send({ type: "quiet", serial: pass.serial() });
    expect(pass.reply()).toMatchObject({ type: "ops", finished: [], reports: [{ step: wait("s") }] });
  });

  test.each([IN_PLACE, LOOKING_AHEAD])(
    "PASS-1: what was parked before a body starts is reported once it runs",
    (mode) => {
      const pass = machine(mode);
      pass.send({ type: "found", step: wait("s"), due: true });
      expect(pass.send({ type: "found", step: body("a"), due: true })).toEqual([
        { do: "start", step: body("a") },
        { do: "flush-soon" },
      ]);
      const parked = [{ type: "step", step: wait("s") }];
      expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [], parked }]);
    },
  );

  test("PASS-2, PASS-3: results that finish during a checkpoint go into the next one, and settle once stored", () => {
    const pass = machine(IN_PLACE);
    for (const hash of ["a", "b", "c"]) pass.send({ type: "found", step: body(hash), due: true });
    expect(pass.send(finished(op("a")))).toEqual([{ do: "flush-soon" }]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")], parked: [] }]);
    expect(pass.send(finished(op("b")))).toEqual([]);
    expect(pass.send(finished(op("c")))).toEqual([]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
      { do: "settle", ops: [op("a")] },
      { do: "flush-soon" },
    ]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("b"), op("c")], parked: [] }]);
  });

  test("PASS-2: a checkpoint keeps the order and stays within its size", () => {
    const pass = machine(IN_PLACE);
    const large = MAX_BATCH_BYTES / 2 + 1;
    for (const hash of ["a", "b", "c"]) {
      pass.send({ type: "found", step: body(hash), due: true });
      pass.send(finished(op(hash, large)));
    }
    const sent: string[][] = [];
    for (let i = 0; i < 3; i += 1) {
      const [effect] = pass.send({ type: "flush" });
      if (effect?.do === "checkpoint") sent.push(effect.ops.map((each) => each.hash));
      pass.send({ type: "answered", outcome: "stored" });
    }
    expect(sent).toEqual([["a"], ["b"], ["c"]]);
  });

  test("PASS-5: a stale pass ends without a reply once no body runs", () => {
    const pass = machine(IN_PLACE);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send({ type: "found", step: body("b"), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    expect(pass.send({ type: "answered", outcome: "stale" })).toEqual([{ do: "abort" }]);
    expect(pass.send(finished(op("b")))).toEqual([{ do: "reply", reply: { type: "stale" } }]);
  });

  test("PASS-6: after an invalid answer nothing starts, and the reply carries finished steps", () => {
    const pass = machine(IN_PLACE);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send({ type: "found", step: body("b"), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    pass.send({ type: "answered", outcome: "invalid" });
    expect(pass.send({ type: "found", step: body("c"), due: true })).toEqual([]);
    expect(pass.send(finished(op("b")))).toEqual([{ do: "watch", serial: pass.serial() }]);
    pass.send({ type: "quiet", serial: pass.serial() });
    expect(pass.reply()).toMatchObject({ type: "ops", finished: [op("a"), op("b")], reports: [{ step: body("c") }] });
  });

  test("PASS-7: a value ends the pass and aborts running bodies; a retryable failure waits for them", () => {
    const pass = machine(IN_PLACE);
    pass.send({ type: "found", step: body("a"), due: true });
    expect(pass.send({ type: "handler-ended", end: returned })).toEqual([
      { do: "abort" },
      { do: "reply", reply: { type: "end", end: returned, results: [], position: 0 } },
    ]);
    const other = machine(IN_PLACE);
    other.send({ type: "found", step: body("a"), due: true });
    expect(other.send({ type: "handler-ended", end: failed(false) })).toEqual([]);
    expect(other.send(finished(op("a")))).toEqual([{ do: "flush-soon" }]);
    other.send({ type: "flush" });
    other.send({ type: "answered", outcome: "stored" });
    expect(other.reply()).toMatchObject({ type: "end", end: failed(false), results: [] });
  });

  test("PASS-7: a retryable failure waits for the answer to a checkpoint, also when no body runs any more", () => {
    const pass = machine(IN_PLACE);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send(finished(op("a")));
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")], parked: [] }]);
    // Its reply could be decided on before the step is stored: then the next pass would run the step again.
    expect(pass.send({ type: "handler-ended", end: failed(false) })).toEqual([]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
      { do: "settle", ops: [op("a")] },
      { do: "reply", reply: { type: "end", end: failed(false), results: [], position: 1 } },
    ]);
  });
});

describe("Pass machine that looks ahead", () => {
  const ended = (results: readonly OpText[], position = 0): PassReply => ({
    type: "end",
    end: returned,
    results,
    position,
  });

  test("results say how many the handler is given before them, those on record included", () => {
    const pass = machine(LOOKING_AHEAD, 3);
    for (const hash of ["a", "b", "c"]) pass.send({ type: "found", step: body(hash), due: true });
    pass.send(finished(op("a")));
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")], position: 3 }]);
    pass.send(finished(op("b")));
    pass.send({ type: "answered", outcome: "stored" });
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("b")], position: 4 }]);
    pass.send(finished(op("c")));
    pass.send({ type: "handler-ended", end: returned });
    expect(pass.reply()).toEqual(ended([op("b"), op("c")], 4));
  });

  test("PASS-12: a result settles at once, and a body waits until all that its handler has seen is stored", () => {
    const pass = machine(LOOKING_AHEAD);
    pass.send({ type: "found", step: body("a"), due: true });
    expect(pass.send(finished(op("a")))).toEqual([{ do: "settle", ops: [op("a")] }, { do: "flush-soon" }]);
    expect(pass.send({ type: "found", step: body("b"), due: true })).toEqual([]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")], parked: [] }]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([{ do: "start", step: body("b") }]);
  });

  test("PASS-12: a body waits for the checkpoint that carries the last result which its handler has seen", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const hash of ["a", "b"]) pass.send({ type: "found", step: body(hash), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    pass.send({ type: "found", step: body("after a"), due: true });
    pass.send(finished(op("b")));
    pass.send({ type: "found", step: body("after b"), due: true });
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
      { do: "start", step: body("after a") },
      { do: "flush-soon" },
    ]);
    pass.send({ type: "flush" });
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([{ do: "start", step: body("after b") }]);
  });

  test("PASS-12: a result waits for its storage where something on record comes first, and so do those after it", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const hash of ["a", "b"]) pass.send({ type: "found", step: body(hash), due: true });
    expect(pass.send({ type: "finished", op: op("a"), maySettle: false })).toEqual([{ do: "flush-soon" }]);
    expect(pass.send(finished(op("b")))).toEqual([]);
    // Not kept back for the end of the pass: what follows from it is not known.
    expect(pass.send({ type: "found", step: wait("s"), due: true })).toEqual([]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a"), op("b")], parked: [] }]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
      { do: "settle", ops: [op("a"), op("b")] },
      { do: "watch", serial: pass.serial() },
    ]);
  });

  test("PASS-13: results that are not sent or not answered go with the end", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const hash of ["a", "b"]) pass.send({ type: "found", step: body(hash), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    pass.send(finished(op("b")));
    pass.send({ type: "handler-ended", end: returned });
    expect(pass.reply()).toEqual(ended([op("a"), op("b")]));
  });

  test("PASS-13: the end waits for what is too large to be sent twice, or to go with it", () => {
    const twice = machine(LOOKING_AHEAD);
    twice.send({ type: "found", step: body("a"), due: true });
    twice.send(finished(op("a", MAX_REPEATED_BYTES + 1)));
    twice.send({ type: "flush" });
    expect(twice.send({ type: "handler-ended", end: returned })).toEqual([]);
    twice.send({ type: "answered", outcome: "stored" });
    expect(twice.reply()).toEqual(ended([], 1));
    const large = machine(LOOKING_AHEAD);
    large.send({ type: "found", step: body("a"), due: true });
    large.send(finished(op("a", MAX_BATCH_BYTES)));
    expect(large.send({ type: "handler-ended", end: returned })).toEqual([]);
    expect(large.send({ type: "flush" })).toMatchObject([{ do: "checkpoint" }]);
    large.send({ type: "answered", outcome: "stored" });
    expect(large.reply()).toEqual(ended([], 1));
  });

  test("PASS-13: a failure that is tried again waits for a checkpoint that tells of failed attempts", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const hash of ["a", "b"]) pass.send({ type: "found", step: body(hash), due: true });
    pass.send({ type: "failed", op: op("a"), final: false });
    pass.send({ type: "flush" });
    pass.send(finished(op("b")));
    expect(pass.send({ type: "handler-ended", end: failed(false) })).toEqual([]);
    pass.send({ type: "answered", outcome: "stored" });
    expect(pass.reply()).toMatchObject({ type: "end", end: failed(false), results: [op("b")], position: 0 });
  });

  test("PASS-14: only waits keep a result back for the end of the pass, and bodies do not", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const hash of ["a", "b"]) pass.send({ type: "found", step: body(hash), due: true });
    pass.send({ type: "found", step: wait("s"), due: true });
    pass.send(finished(op("a")));
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")] }]);
    pass.send({ type: "answered", outcome: "stored" });
    pass.send(finished(op("b")));
    expect(pass.send({ type: "flush" })).toEqual([{ do: "watch", serial: pass.serial() }]);
    pass.send({ type: "quiet", serial: pass.serial() });
    expect(pass.reply()).toMatchObject({
      type: "ops",
      finished: [op("b")],
      reports: [{ step: wait("s") }],
      isSeen: true,
    });
  });

  test("PASS-15: after a stale answer nothing that was held starts", () => {
    const pass = machine(LOOKING_AHEAD);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    pass.send({ type: "found", step: body("b"), due: true });
    expect(pass.send({ type: "answered", outcome: "stale" })).toEqual([
      { do: "abort" },
      { do: "reply", reply: { type: "stale" } },
    ]);
  });
});

describe("Pass machine on the plain protocol", () => {
  const plain: PassMode = { type: "plain", planOnly: false };

  test("PASS-8: a single new step with a body runs; several steps, or a forced plan, are reported", () => {
    const pass = machine(plain);
    expect(pass.send({ type: "found", step: body("a"), due: true })).toEqual([{ do: "watch", serial: 1 }]);
    expect(pass.send({ type: "quiet", serial: 0 })).toEqual([]);
    expect(pass.send({ type: "quiet", serial: 1 })).toEqual([{ do: "start", step: body("a") }]);
    pass.send(finished(op("a")));
    expect(pass.reply()).toMatchObject({ type: "ops", finished: [op("a")], reports: [] });
    const forced = machine({ type: "plain", planOnly: true });
    forced.send({ type: "found", step: body("a"), due: true });
    forced.send({ type: "quiet", serial: 1 });
    expect(forced.reply()).toMatchObject({ type: "ops", reports: [{ step: body("a") }] });
  });

  test("PASS-9: a handler that returns with unreported steps ends with their ops", () => {
    const pass = machine(plain);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send({ type: "handler-ended", end: returned });
    expect(pass.reply()).toMatchObject({ type: "ops", reports: [{ step: body("a") }] });
  });
});

describe("Pass machine for targeted requests", () => {
  const targeted: PassMode = { type: "targeted", hash: "t" };

  test("PASS-10: a targeted pass runs exactly its step, or reports that it is missing", () => {
    const pass = machine(targeted);
    pass.send({ type: "found", step: body("a"), due: true });
    expect(pass.send({ type: "found", step: body("t"), due: true })).toEqual([{ do: "start", step: body("t") }]);
    const missing = machine(targeted);
    missing.send({ type: "found", step: body("a"), due: true });
    expect(missing.send({ type: "quiet", serial: 1 })).toEqual([{ do: "watch-missing", serial: 1 }]);
    missing.send({ type: "missing", serial: 1 });
    expect(missing.reply()).toEqual({ type: "missing", found: [body("a")] });
  });
});

describe("Pass machine that is given what ends elsewhere", () => {
  const ended = (hash: string): PassEvent => ({ type: "ended", hash });
  const gone = (hash: string): OpText => ({ hash, text: "", bytes: 0 });

  test("PASS-16: a wait settles at once where nothing is before it, and is reported no more", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [wait("s"), wait("t"), body("a")]) pass.send({ type: "found", step, due: true });
    expect(pass.send(ended("s"))).toEqual([{ do: "settle", ops: [gone("s")] }]);
    expect(pass.send({ type: "flush" })).toMatchObject([
      { do: "checkpoint", ops: [], parked: [{ type: "step", step: wait("t") }] },
    ]);
    pass.send({ type: "answered", outcome: "stored" });
    // All that the handler was given is stored.
    expect(pass.send({ type: "found", step: body("b"), due: true })).toEqual([{ do: "start", step: body("b") }]);
    pass.send(finished(op("a")));
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a")], position: 1 }]);
  });

  test("PASS-16: it settles after results that are to be stored first, and a body waits for those", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [wait("s"), wait("t"), body("a")]) pass.send({ type: "found", step, due: true });
    pass.send({ type: "flush" });
    pass.send({ type: "answered", outcome: "stored" });
    expect(pass.send({ type: "finished", op: op("a"), maySettle: false })).toEqual([{ do: "flush-soon" }]);
    expect(pass.send(ended("s"))).toEqual([]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("a"), gone("s")], position: 0 }]);
    expect(pass.send(ended("t"))).toEqual([]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
      { do: "settle", ops: [op("a"), gone("s"), gone("t")] },
    ]);
    expect(pass.send({ type: "found", step: body("b"), due: true })).toEqual([{ do: "start", step: body("b") }]);
  });

  test("PASS-16: a body that follows from it waits for a result before it that is on its way", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [wait("s"), body("a"), body("c")]) pass.send({ type: "found", step, due: true });
    pass.send({ type: "flush" });
    pass.send({ type: "answered", outcome: "stored" });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    expect(pass.send(ended("s"))).toEqual([{ do: "settle", ops: [gone("s")] }]);
    expect(pass.send({ type: "found", step: body("b"), due: true })).toEqual([]);
    pass.send(finished(op("c")));
    expect(pass.send({ type: "answered", outcome: "stored" })).toMatchObject([
      { do: "start", step: body("b") },
      { do: "flush-soon" },
    ]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", ops: [op("c")], position: 2 }]);
  });

  test("PASS-16: the end of the handler carries results of bodies alone", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [wait("s"), body("a")]) pass.send({ type: "found", step, due: true });
    pass.send(finished(op("a")));
    pass.send(ended("s"));
    pass.send({ type: "handler-ended", end: returned });
    expect(pass.reply()).toMatchObject({ type: "end", results: [op("a"), gone("s")], position: 0 });
  });

  const listening = (hash: string): FoundStep => ({ hash, hasBody: false, isWait: true, listens: true });

  test.each([IN_PLACE, LOOKING_AHEAD])(
    "PASS-17: a body after a wait for an event starts once that is stored: %o",
    (mode) => {
      const pass = machine(mode);
      pass.send({ type: "found", step: listening("w"), due: true });
      expect(pass.send({ type: "found", step: body("a"), due: true })).toEqual([{ do: "flush-soon" }]);
      expect(pass.send({ type: "flush" })).toMatchObject([
        { do: "checkpoint", ops: [], parked: [{ step: listening("w") }] },
      ]);
      expect(pass.send({ type: "found", step: body("b"), due: true })).toEqual([]);
      expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([
        { do: "start", step: body("a") },
        { do: "start", step: body("b") },
      ]);
      expect(pass.send({ type: "found", step: body("c"), due: true })).toEqual([{ do: "start", step: body("c") }]);
    },
  );

  test("PASS-17: a wait found while a checkpoint is on its way goes with the next one", () => {
    const pass = machine(LOOKING_AHEAD);
    pass.send({ type: "found", step: body("a"), due: true });
    pass.send(finished(op("a")));
    pass.send({ type: "flush" });
    for (const step of [listening("w"), body("b")]) pass.send({ type: "found", step, due: true });
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([{ do: "flush-soon" }]);
    expect(pass.send({ type: "flush" })).toMatchObject([{ do: "checkpoint", parked: [{ step: listening("w") }] }]);
    expect(pass.send({ type: "answered", outcome: "stored" })).toEqual([{ do: "start", step: body("b") }]);
  });

  test("PASS-17: a wait that the gateway has ended meanwhile holds nothing back", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [listening("w"), body("a")]) pass.send({ type: "found", step, due: true });
    expect(pass.send(ended("w"))).toEqual([
      { do: "settle", ops: [gone("w")] },
      { do: "start", step: body("a") },
    ]);
  });

  test("PASS-17: where the wait comes after the body, or is a sleep, the body starts at once", () => {
    const first = machine(LOOKING_AHEAD);
    expect(first.send({ type: "found", step: body("a"), due: true })).toEqual([{ do: "start", step: body("a") }]);
    first.send({ type: "found", step: listening("w"), due: true });
    const pass = machine(LOOKING_AHEAD);
    pass.send({ type: "found", step: { ...wait("s"), isWait: true, listens: false }, due: true });
    expect(pass.send({ type: "found", step: body("a"), due: true })).toContainEqual({ do: "start", step: body("a") });
  });

  test("PASS-17: where the gateway takes no checkpoint the body is planned with the wait", () => {
    const pass = machine(LOOKING_AHEAD);
    for (const step of [listening("w"), body("a")]) pass.send({ type: "found", step, due: true });
    pass.send({ type: "flush" });
    pass.send({ type: "answered", outcome: "invalid" });
    pass.send({ type: "quiet", serial: pass.serial() });
    expect(pass.reply()).toMatchObject({ type: "ops", reports: [{ step: listening("w") }, { step: body("a") }] });
  });

  test("PASS-16: plain passes, and those that end, are given nothing", () => {
    const plain = machine({ type: "plain", planOnly: false });
    plain.send({ type: "found", step: wait("s"), due: true });
    expect(plain.send(ended("s"))).toEqual([]);
    const pass = machine(LOOKING_AHEAD);
    for (const step of [wait("s"), body("a")]) pass.send({ type: "found", step, due: true });
    pass.send({ type: "handler-ended", end: failed(false) });
    expect(pass.send(ended("s"))).toEqual([]);
  });
});

/** Any order of events that a shell may bring: what a body or a port cannot do, is not tried. */
test("PASS-2 to PASS-7 and PASS-11 to PASS-17 hold for events in any order", () => {
  const choice = fc.record({ pick: fc.nat(10), which: fc.nat(20), flag: fc.boolean(), outcome: fc.nat(5) });
  const modes = fc.constantFrom<PassMode>(
    IN_PLACE,
    LOOKING_AHEAD,
    { type: "plain", planOnly: false },
    { type: "targeted", hash: "h3" },
  );
  fc.assert(
    fc.property(modes, fc.array(choice, { maxLength: 60 }), (mode, choices) => {
      const pass = machine(mode);
      const running: string[] = [];
      const settled: string[] = [];
      const waits: string[] = [];
      /** Results of bodies, and waits that ended, as they came. */
      const came: string[] = [];
      const stored = new Set<string>();
      const given = new Set<string>();
      /** What the handler had been given when it asked for a step. */
      const before = new Map<string, readonly string[]>();
      /** The waits for events that had been found before a step. */
      const waitsBefore = new Map<string, readonly string[]>();
      const listening: string[] = [];
      let told: readonly string[] = [];
      const isAhead = mode.type === "in-place" && mode.looksAhead;
      let unanswered: readonly OpText[] | null = null;
      let flushes = 0;
      let replies = 0;
      let next = 0;
      let ended = false;
      const absorb = (effects: readonly PassEffect[]): void => {
        for (const effect of effects) {
          if (effect.do === "reply") {
            replies += 1;
            if (effect.reply.type === "stale") expect(running).toEqual([]);
            if (effect.reply.type === "ops") expect(running).toEqual([]);
            if (isAhead && effect.reply.type !== "stale") {
              const results = effect.reply.type === "end" ? effect.reply.results : [];
              const ops = effect.reply.type === "ops" ? effect.reply.finished : [];
              for (const { hash } of [...results, ...ops]) stored.add(hash);
              expect([...given].filter((hash) => !stored.has(hash))).toEqual([]);
            }
            continue;
          }
          if (effect.do === "abort" || effect.do === "watch" || effect.do === "watch-missing") continue;
          expect(replies, `${effect.do} after the reply`).toBe(0);
          if (effect.do === "start") {
            running.push(effect.step.hash);
            if (isAhead) expect(before.get(effect.step.hash)?.every((hash) => stored.has(hash))).toBe(true);
            if (mode.type === "in-place") {
              expect(waitsBefore.get(effect.step.hash)?.every((hash) => stored.has(hash))).toBe(true);
            }
          }
          if (effect.do === "flush-soon") flushes += 1;
          if (effect.do === "checkpoint") {
            expect(unanswered, "two checkpoints at once").toBeNull();
            unanswered = effect.ops;
            told = effect.parked.flatMap((report) => (report.type === "step" ? [report.step.hash] : []));
          }
          if (effect.do === "settle") {
            settled.push(...effect.ops.map((each) => each.hash));
            for (const { hash } of effect.ops) given.add(hash);
          }
        }
      };
      for (const { pick, which, flag, outcome } of choices) {
        if (pick <= 3) {
          const hash = `h${next++}`;
          if (pick === 0) waits.push(hash);
          before.set(hash, [...given]);
          waitsBefore.set(hash, [...listening]);
          const listens = pick === 0 && flag;
          if (listens) listening.push(hash);
          absorb(pass.send({ type: "found", step: { hash, hasBody: pick > 0, listens }, due: pick > 1 }));
        } else if (pick <= 5 && running.length > 0) {
          const [hash = ""] = running.splice(which % running.length, 1);
          if (pick === 4) came.push(hash);
          absorb(
            pass.send(
              pick === 4
                ? { type: "finished", op: op(hash), maySettle: flag }
                : { type: "failed", op: op(hash), final: flag },
            ),
          );
        } else if (pick === 6 && flushes > 0) {
          flushes -= 1;
          absorb(pass.send({ type: "flush" }));
        } else if (pick === 7 && unanswered !== null) {
          const answer: CheckpointOutcome =
            (["stored", "stored", "stored", "stored", "invalid", "stale"] as const)[outcome] ?? "stored";
          const ops: readonly OpText[] = unanswered;
          if (answer === "stored") for (const hash of [...told, ...ops.map((each) => each.hash)]) stored.add(hash);
          unanswered = null;
          absorb(pass.send({ type: "answered", outcome: answer }));
        } else if (pick === 10 && waits.length > 0) {
          const [hash = ""] = waits.splice(which % waits.length, 1);
          const { driver } = pass;
          const counts = mode.type === "in-place" && driver.state.phase === "open" && driver.state.ending === null;
          if (counts) {
            came.push(hash);
            stored.add(hash);
          }
          absorb(pass.send({ type: "ended", hash }));
        } else if (pick === 8) {
          absorb(pass.send({ type: "quiet", serial: pass.serial() }));
        } else if (pick === 9 && !ended && which > 15) {
          ended = true;
          absorb(
            pass.send(flag ? { type: "handler-ended", end: outcome > 3 ? failed(false) : returned } : { type: "stop" }),
          );
        }
        expect(replies).toBeLessThanOrEqual(1);
        if (pass.driver.state.phase === "open") expect(pass.driver.state.running).toBe(running.length);
      }
      expect(settled).toEqual(came.slice(0, settled.length));
      // P11: from anywhere it can be ended.
      absorb(pass.send({ type: "stop" }));
      while (replies === 0 && running.length > 0) absorb(pass.send(finished(op(running.pop() ?? ""))));
      expect(replies).toBe(1);
    }),
    { numRuns: runs(3000) },
  );
});
