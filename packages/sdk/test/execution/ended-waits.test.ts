/** What a gateway ends while a pass goes on: in which order, and when, the handler is given it. */
import { describe, expect, test } from "vitest";
import { EndedWaits } from "../../src/execution/ended-waits.ts";
import { OpWriter, placed } from "../../src/execution/op-text.ts";
import type { PassHost } from "../../src/execution/pass-host.ts";
import { encodeResult } from "../../src/execution/result-json.ts";
import type { StepOutcome, StepRecord } from "../../src/execution/step-record.ts";
import { Journal } from "../../src/steps/journal.ts";
import type { OpText } from "../../src/steps/pass-types.ts";
import type { StepCall } from "../../src/steps/step-call.ts";

const data = (hash: string, value: unknown): unknown => [hash, { type: "data", data: value }];

function setup(journal = new Journal({}, [])) {
  const outcomes = new Map<string, { outcome?: StepOutcome }>();
  const sent: string[] = [];
  const host = {
    isReplayed: true,
    find: (hash: string) => outcomes.get(hash) as StepRecord | undefined,
    send: (event: Parameters<PassHost["send"]>[0]) => void (event.type === "ended" && sent.push(event.hash)),
  };
  const waits = new EndedWaits(journal, host);
  const find = (hash: string): void => void outcomes.set(hash, {});
  const receive = (offset: number, ...list: unknown[]): void =>
    waits.onResults({ results: JSON.stringify(list), offset });
  return { host, waits, outcomes, sent, find, receive };
}

describe("Waits that end while a pass goes on", () => {
  test("are given with what ended them", () => {
    const { find, receive, outcomes, sent } = setup();
    for (const hash of ["s", "i"]) find(hash);
    receive(0, data("s", null));
    receive(1, ["i", { type: "error", error: { name: "ChildError", message: "no" } }]);
    expect(sent).toEqual(["s", "i"]);
    expect(outcomes.get("s")?.outcome).toEqual({ type: "memo", value: null });
    expect(outcomes.get("i")?.outcome).toMatchObject({ type: "error", error: { name: "ChildError" } });
  });

  test("wait until the handler asks for them, and for those before them", () => {
    const { find, receive, sent, waits } = setup();
    find("t");
    receive(0, data("s", null), data("t", null));
    expect(sent).toEqual([]);
    find("s");
    waits.deliver();
    expect(sent).toEqual(["s", "t"]);
  });

  test("wait until the handler was given what is on record", () => {
    const { host, find, receive, sent, waits } = setup();
    host.isReplayed = false;
    find("s");
    receive(0, data("s", null));
    expect(sent).toEqual([]);
    host.isReplayed = true;
    waits.deliver();
    expect(sent).toEqual(["s"]);
  });

  test("come with the next pass where some before them were lost", () => {
    const { find, receive, sent } = setup();
    for (const hash of ["s", "t", "u"]) find(hash);
    receive(0, data("s", null));
    receive(2, data("u", null));
    expect(sent).toEqual(["s"]);
  });

  test("are not given twice where the request had them", () => {
    const { find, receive, sent } = setup(new Journal({ s: { type: "data", data: 1 } }, ["s"]));
    for (const hash of ["s", "t"]) find(hash);
    receive(0, data("s", 1), data("t", 2));
    expect(sent).toEqual(["t"]);
  });

  test("are left alone where they are nothing that a gateway says", () => {
    const { find, waits, sent } = setup();
    find("s");
    for (const results of ['{"s":1}', "[", ""]) waits.onResults({ results, offset: 0 });
    waits.onResults({ results: '[1,["s"],[2,{}],["s",1]]', offset: 0 });
    expect(sent).toEqual([]);
  });
});

describe("The places of results in a list", () => {
  const long = "x".repeat(20_000);
  const result = (name: string, value: unknown = name): OpText =>
    new OpWriter({
      identity: { hash: name, id: name, index: 0, fullId: name },
      call: { kind: "run", opts: undefined } as unknown as StepCall,
      args: undefined,
      ordinal: undefined,
    }).finished(encodeResult(value, "it"), { timing: { startedMs: 1, durationMs: 1 } });
  const gone = (hash: string): OpText => ({ hash, text: "", bytes: 0 });
  const read = (ops: readonly OpText[]): unknown[] =>
    ops.map(({ text, parts, bytes }) => {
      expect(bytes).toBe(Buffer.byteLength(text));
      if (parts) expect(parts.join("")).toBe(text);
      const { id, position } = JSON.parse(text) as { id: string; position?: number };
      return [id, position];
    });

  test("are said of the first, and of each after a wait that ended", () => {
    const ops = [result("a", long), result("b"), gone("s"), gone("t"), result("c"), result("d", long)];
    expect(read(placed(ops, 3))).toEqual([
      ["a", 3],
      ["b", undefined],
      ["c", 7],
      ["d", undefined],
    ]);
    expect(placed([], 3)).toEqual([]);
    expect(read(placed([gone("s"), result("a")], 0))).toEqual([["a", 1]]);
  });
});
