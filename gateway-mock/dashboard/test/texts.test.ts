import { describe, expect, test } from "vitest";
import { testOf } from "../src/data/as-test.ts";
import { compareRuns } from "../src/data/compare.ts";
import {
  agoText,
  countOf,
  durationText,
  expectedText,
  instantText,
  sizeText,
  withLocalTimes,
} from "../src/data/format.ts";
import { bulkFilter, isFiltered, listQuery, readFilter, spanOf } from "../src/pages/runs-filter.ts";
import { detail, step } from "./runs.ts";

test.each([
  [0, "0 ms"],
  [0.4, "<1 ms"],
  [8.4, "8 ms"],
  [999.4, "999 ms"],
  [999.6, "1.00 s"],
  [1_240, "1.24 s"],
  [59_940, "59.9 s"],
  [59_960, "1 min"],
  [185_000, "3 min 5 s"],
  [7_800_000, "2 h 10 min"],
  [86_400_000, "1 d"],
  [356_400_000, "4 d 3 h"],
  [-5, "0 ms"],
])("%d ms are written as %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

describe("Sentences of the gateway's", () => {
  const at = (iso: string) => instantText(Date.parse(iso));
  const iso = "2026-11-28T11:12:05.880Z";

  test("say instants in the reader's time zone", () => {
    expect(withLocalTimes(`It waits until ${iso}.`)).toBe(`It waits until ${at(iso)}.`);
    expect(withLocalTimes(`from ${iso} (or 2026-01-02T03:04:05+02:00), 2026-11-28T11:12Z`)).toBe(
      `from ${at(iso)} (or ${at("2026-01-02T01:04:05Z")}), ${at("2026-11-28T11:12:00Z")}`,
    );
    expect(withLocalTimes(`${iso}`)).toMatch(/^\d+ Nov 2026, \d\d:12:05\.880$/);
  });

  test.each([
    'It waits for event.data.at == "2026-11-28T11:12:05.880Z".',
    "The key is 'order-2026-11-28T11:12:05Z'.",
    "order-2026-11-28T11:12:05Z-7",
    "2026-11-28T11:12:05 has no zone, 2026-13-28T11:12:05Z is no time.",
    "Nothing of the kind.",
  ])("keep what only looks like one: %s", (text) => {
    expect(withLocalTimes(text)).toBe(text);
  });
});

test("what was and what comes is said in words", () => {
  expect([1_000, 12_000, -7_200_000, 864_000_000].map((ms) => agoText(0, ms))).toEqual([
    "just now",
    "12 s ago",
    "in 2 h",
    "10 d ago",
  ]);
  expect([59_600, 3_599_000].map((ms) => agoText(0, ms))).toEqual(["1 min ago", "1 h ago"]);
  expect([countOf(1, "run"), countOf(12_000, "run"), sizeText(999), sizeText(1_500_000)]).toEqual([
    "1 run",
    "12,000 runs",
    "999 B",
    "1.5 MB",
  ]);
});

test("what is expected is said to come, in a moment too, and once it is late since when it is due", () => {
  expect([60_000, 1_900, 0, -1_900, -30_000].map((ms) => expectedText("next", 100_000 + ms, 100_000))).toEqual([
    ...["next in 1 min", "next in a moment", "next in a moment", "next in a moment", "due 30 s ago"],
  ]);
});

describe("The filter of the list", () => {
  const filter = readFilter(new URLSearchParams("status=failed,nonsense,RUNNING&function=shop-order&time=1h&x=1"));

  test("is read from the address, and asks for what it says", () => {
    expect(filter.statuses).toEqual(["RUNNING", "FAILED"]);
    const query = new URLSearchParams(listQuery(filter, 3_600_000, 10, "c"));
    expect(Object.fromEntries(query)).toEqual({
      limit: "10",
      waiting: "1",
      status: "RUNNING,FAILED",
      function: "shop-order",
      after: "0",
      cursor: "c",
    });
    expect(isFiltered(readFilter(new URLSearchParams()))).toBe(false);
  });

  test("gives bulk jobs only what they can take", () => {
    expect(bulkFilter("cancel", filter, 3_600_000)).toEqual({
      status: ["RUNNING"],
      functionId: "shop-order",
      after: 0,
    });
    expect(bulkFilter("resume", filter, 0)).toMatchObject({ status: ["FAILED"] });
    expect(bulkFilter("cancel", readFilter(new URLSearchParams("status=COMPLETED")), 0)).toBeNull();
    const narrow = readFilter(new URLSearchParams("event=e&key=order-7&error=no+funds&status=FAILED"));
    expect(bulkFilter("rerun", narrow, 0)).toEqual({
      status: ["FAILED"],
      eventId: "e",
      key: "order-7",
      error: "no funds",
    });
  });

  test("has a range of times, with both ends, one or none; what is no time is none", () => {
    const read = (query: string) => readFilter(new URLSearchParams(query));
    const both = read("time=range&from=2027-01-31T09:00:00Z&to=2027-01-31T10:00:00%2B01:00");
    expect([both.from, both.to]).toEqual(["2027-01-31T09:00:00.000Z", "2027-01-31T09:00:00.000Z"]);
    const at = Date.parse("2027-01-31T09:00:00Z");
    expect(bulkFilter("rerun", both, 5)).toMatchObject({ after: at, before: at });
    expect(new URLSearchParams(listQuery(both, 5, 10, null)).get("before")).toBe(String(at));
    expect(spanOf(read("time=range&to=2027-01-31T09:00:00Z"), 5)).toEqual({ before: at });
    expect(spanOf(read("time=range&from=soon"), 5)).toEqual({});
    // Without a range its ends say nothing.
    expect(spanOf(read("time=15m&from=2027-01-31T09:00:00Z"), 900_000)).toEqual({ after: 0 });
    expect(read("time=toString").window).toBe("");
  });
});

describe("Two runs", () => {
  const steps = [step("a", 1), step("b", 2, { output: { x: 1, y: 2 } }), step("c", 3)];

  test("are the same whatever the order of fields and the time that they took", () => {
    const other = [step("a", 5), step("b", 9, { output: { y: 2, x: 1 } }), step("c", 7)];
    expect(compareRuns(detail(steps), detail(other))).toMatchObject({ sameInput: true, sameEnd: true, first: -1 });
  });

  test("part at the first step that only one has, or that gave something else", () => {
    const other = [step("a", 1), step("b", 2, { output: { x: 1, y: 3 } }), step("d", 3)];
    const { steps: compared, first } = compareRuns(detail(steps), detail(other, { status: "FAILED" }));
    expect(first).toBe(1);
    expect(compared.map(({ verdict }) => verdict)).toEqual(["same", "differs", "only-a", "only-b"]);
  });
});

test("a run becomes a test with its event, the results of its steps, and its end", () => {
  const steps = [
    step("charge card", 1, { output: { paid: 42 } }),
    step("night", 2, { op: "Sleep" }),
    step("mail", 3, { status: "failed", error: { message: 'no "mail"' } }),
  ];
  const text = testOf(detail(steps, { functionId: "shop-fulfil-order", output: { ok: true } }));
  expect(text).toContain('import { fulfilOrder } from "./functions.js";');
  expect(text).toContain('event: {"name":"shop/order","data":{"order":7}}');
  expect(text).toContain('{ id: "charge card", handler: () => ({"paid":42}) },');
  expect(text).toContain('{ id: "mail", handler: () => Promise.reject(new Error("no \\"mail\\"")) },');
  expect(text).not.toContain("night");
  expect(text).toContain('expect(run.output).toEqual({"ok":true});');
});

test("what was waited for, answered or thrown is given as the author of a test gives it", () => {
  const steps = [
    step("asked", 1, { op: "WaitForSignal", output: { signal: "s", data: { approved: true } } }),
    step("none came", 2, { op: "WaitForEvent", output: null }),
    step("call", 3, { op: "Gateway", output: { url: "u", status_code: 204, headers: { a: "b" }, body: "" } }),
    step("pay", 4, { status: "failed", error: { name: "Declined", message: "no", code: "E_CARD" } }),
  ];
  const text = testOf(detail(steps));
  expect(text).toContain('{ id: "asked", handler: () => ({"approved":true}) },');
  expect(text).toContain('{ id: "none came", handler: () => (null) },');
  expect(text).toContain('{ id: "call", handler: () => new Response(null, {"status":204,"headers":{"a":"b"}}) },');
  expect(text).toContain('Promise.reject(Object.assign(new Error("no"), {"name":"Declined","code":"E_CARD"}))');
});

test("of a run of a graph, the test makes the runner, and knows steps by the keys of their nodes", () => {
  const nodes = [
    { id: "start", type: "start" },
    { id: "mail", type: "sendMail", title: "Mail it" },
  ];
  const graph = { id: "g", title: "g", nodes, edges: [{ from: "mail", handle: "bounced", to: "mail" }] };
  const run = detail([step("Mail it", 1, { id: "digest" })], {
    ...{ functionId: "shop-graphs", eventName: "holdfast/graph.requested" },
    event: { name: "holdfast/graph.requested", data: { graph, graphId: "g", version: 1, input: null } },
  });
  const text = testOf(run, [{ stepId: "digest", key: "mail" }]);
  expect(text).toContain('import { graphs, nodeType } from "@holdfast/graph";');
  expect(text).not.toContain("./functions.js");
  expect(text).toContain('Object.entries({"sendMail":["bounced"]})');
  expect(text).toContain("const { runner } = graphs(app, { nodeTypes });");
  expect(text).toContain('{ id: "mail", handler: () => ("Mail it") },');
});
