import { describe, expect, test } from "vitest";
import { Journal } from "../../src/steps/journal.ts";
import { hashStepId, StepNames } from "../../src/steps/step-id.ts";
import { wireDuration } from "../../src/steps/wire-duration.ts";

describe("Forms of recorded steps", () => {
  const forms = new Journal(
    {
      data: { data: 1 },
      typed: { type: "data", data: { data: 2 } },
      error: { error: { error: "text only" } },
      odd: { type: "error", error: "no object" },
      input: { input: [1, 2] },
      typedInput: { type: "input", input: [] },
      event: { name: "a/b", data: { x: 1 } },
      nothing: null,
      number: 3,
      otherType: { type: "memo", data: 1 },
    },
    [],
  );

  test("an explicit form has no other key; any other object is the data", () => {
    expect(forms.lookup("data")).toEqual({ type: "data", data: 1 });
    expect(forms.lookup("typed")).toEqual({ type: "data", data: { data: 2 } });
    expect(forms.lookup("error")).toMatchObject({ type: "error", error: { name: "Error", message: "text only" } });
    expect(forms.lookup("odd")).toEqual({ type: "error", error: { name: "Error", message: "no object" } });
    expect(forms.lookup("input")).toEqual({ type: "input", input: [1, 2] });
    expect(forms.lookup("typedInput")).toEqual({ type: "input", input: [] });
    expect(forms.lookup("event")).toEqual({ type: "data", data: { name: "a/b", data: { x: 1 } } });
    expect(forms.lookup("nothing")).toEqual({ type: "data", data: null });
    expect(forms.lookup("number")).toEqual({ type: "data", data: 3 });
    expect(forms.lookup("otherType")).toEqual({ type: "data", data: { type: "memo", data: 1 } });
    expect(forms.lookup("toString")).toBeUndefined();
  });
});

describe("Order of recorded steps", () => {
  const steps = { a: { data: 1 }, b: { data: 2 }, c: { data: 3 }, i: { input: [] } };

  test("a recorded step is held until the code has reached all that finished before it", () => {
    const journal = new Journal(steps, ["c", "i", "a", "b"]);
    expect(journal.ask("a")).toEqual([]);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.heldCount).toBe(2);
    expect(journal.ask("c")).toEqual(["c", "a", "b"]);
    expect(journal.heldCount).toBe(0);
  });

  test("recorded steps that the code no longer reaches are skipped from the earliest on", () => {
    const journal = new Journal(steps, ["a", "b", "c"]);
    expect(journal.ask("c")).toEqual([]);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.releaseEarliest()).toEqual(["b", "c"]);
    expect(journal.ask("a")).toEqual(["a"]);
    expect(journal.releaseEarliest()).toEqual([]);
  });

  test("without a stack, recorded steps settle in the order of the keys", () => {
    const journal = new Journal(steps, []);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.ask("a")).toEqual(["a", "b"]);
  });

  test("a finished step missing from the stack settles at once", () => {
    expect(new Journal(steps, ["a"]).ask("c")).toEqual(["c"]);
  });
});

describe("Step ids", () => {
  test("hashing and numbering of step ids follow the protocol", () => {
    expect(hashStepId("a")).toBe("86f7e437faa5a7fce15d1ddcb9eaeaea377667b8");
    const names = new StepNames();
    expect(names.next("a")).toEqual({ hash: hashStepId("a"), id: "a", index: 0, fullId: "a" });
    expect(names.next("a")).toEqual({ hash: hashStepId("a:1"), id: "a", index: 1, fullId: "a:1" });
    expect(names.next("a").fullId).toBe("a:2");
    expect(names.next("b").fullId).toBe("b");
  });

  test("an id that resembles a numbered repeat never collides with one", () => {
    const names = new StepNames();
    names.next("a:1");
    names.next("a");
    expect(names.next("a").fullId).toBe("a:2");
  });

  test("step ids must be text of limited length", () => {
    for (const id of ["", undefined, 3, "x".repeat(257)]) {
      expect(() => new StepNames().next(id)).toThrow(expect.objectContaining({ code: "STEP_INVALID" }));
    }
  });
});

test("durations are formatted as on the wire", () => {
  expect(wireDuration(90_000)).toBe("1m30s");
  expect(wireDuration(8 * 86_400_000 + 3_600_000)).toBe("1w1d1h");
  expect(wireDuration(1999)).toBe("1s");
  expect(wireDuration(1)).toBe("1s");
  expect(wireDuration(0)).toBe("");
  expect(wireDuration(0, true)).toBe("0s");
  expect(wireDuration(1250, true)).toBe("1s250ms");
  expect(wireDuration(250, true)).toBe("250ms");
});
