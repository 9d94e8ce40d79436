import { describe, expect, test } from "vitest";
import { Journal } from "../../src/steps/journal.ts";
import { hashStepId, StepNames } from "../../src/steps/step-id.ts";
import { wireDuration } from "../../src/steps/wire-duration.ts";

describe("memo forms", () => {
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

  test("explicit forms hold nothing beside their key; anything else is the data", () => {
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

describe("order", () => {
  const steps = { a: { data: 1 }, b: { data: 2 }, c: { data: 3 }, i: { input: [] } };

  test("a step is held until those that finished before it were asked for", () => {
    const journal = new Journal(steps, ["c", "i", "a", "b"]);
    expect(journal.ask("a")).toEqual([]);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.heldCount).toBe(2);
    expect(journal.ask("c")).toEqual(["c", "a", "b"]);
    expect(journal.heldCount).toBe(0);
  });

  test("steps the code no longer asks for are given up from the earliest on", () => {
    const journal = new Journal(steps, ["a", "b", "c"]);
    expect(journal.ask("c")).toEqual([]);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.releaseEarliest()).toEqual(["b", "c"]);
    expect(journal.ask("a")).toEqual(["a"]);
    expect(journal.releaseEarliest()).toEqual([]);
  });

  test("without a stack the order of the keys is the order", () => {
    const journal = new Journal(steps, []);
    expect(journal.ask("b")).toEqual([]);
    expect(journal.ask("a")).toEqual(["a", "b"]);
  });

  test("a finished step that the stack does not name settles at once", () => {
    expect(new Journal(steps, ["a"]).ask("c")).toEqual(["c"]);
  });
});

describe("step ids", () => {
  test("hash and numbering follow the protocol", () => {
    expect(hashStepId("a")).toBe("86f7e437faa5a7fce15d1ddcb9eaeaea377667b8");
    const names = new StepNames();
    expect(names.next("a")).toEqual({ hash: hashStepId("a"), id: "a", index: 0, fullId: "a" });
    expect(names.next("a")).toEqual({ hash: hashStepId("a:1"), id: "a", index: 1, fullId: "a:1" });
    expect(names.next("a").fullId).toBe("a:2");
    expect(names.next("b").fullId).toBe("b");
  });

  test("an id that looks like a repeat never takes the place of one", () => {
    const names = new StepNames();
    names.next("a:1");
    names.next("a");
    expect(names.next("a").fullId).toBe("a:2");
  });

  test("ids must be text of a sensible length", () => {
    for (const id of ["", undefined, 3, "x".repeat(257)]) {
      expect(() => new StepNames().next(id)).toThrow(expect.objectContaining({ code: "STEP_INVALID" }));
    }
  });
});

test("durations on the wire", () => {
  expect(wireDuration(90_000)).toBe("1m30s");
  expect(wireDuration(8 * 86_400_000 + 3_600_000)).toBe("1w1d1h");
  expect(wireDuration(1999)).toBe("1s");
  expect(wireDuration(1)).toBe("1s");
  expect(wireDuration(0)).toBe("");
  expect(wireDuration(0, true)).toBe("0s");
  expect(wireDuration(1250, true)).toBe("1s250ms");
  expect(wireDuration(250, true)).toBe("250ms");
});
