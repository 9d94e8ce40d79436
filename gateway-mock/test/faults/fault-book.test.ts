import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Lane } from "../../src/faults/lane.ts";
import { FaultBook, type FaultPoint } from "../../src/faults/rules/fault-book.ts";
import { readRule } from "../../src/faults/rules/read-rule.ts";

const rule = (value: object) => readRule(value, () => 1);
const frame = (kind = "WORKER_REPLY", direction = "to-gateway"): FaultPoint<"frame"> => ({
  edge: "frame",
  kind: kind as "WORKER_REPLY",
  direction: direction as "to-gateway",
  connection: { connectionId: "c", instanceId: "web-1" },
  functionId: () => "shop-order",
  runId: () => "r",
  steps: () => [{ hash: "h", name: "charge" }],
  commits: () => true,
});

test("a fault happens to what fits its place, and to nothing else", () => {
  const fits = (where: object, point = frame()): boolean => {
    const book = new FaultBook(fakeClock());
    book.add(rule({ what: "drop", where }));
    return book.decide(point) !== null;
  };
  expect(fits({})).toBe(true);
  expect(fits({ kind: ["WORKER_REPLY", "WORKER_READY"] })).toBe(true);
  expect(fits({ kind: "WORKER_READY" })).toBe(false);
  expect(fits({ direction: "to-worker" })).toBe(false);
  expect(fits({ connection: "web-1" })).toBe(true);
  expect(fits({ connection: "c" })).toBe(true);
  expect(fits({ connection: "web-2" })).toBe(false);
  expect(fits({ function: "shop-order", run: "r", step: "charge" })).toBe(true);
  expect(fits({ function: "shop-other" })).toBe(false);
  expect(fits({ run: "s" })).toBe(false);
  expect(fits({ step: "pack" })).toBe(false);
});

test("count, after and the time limit how often a fault happens, and what is over stays listed", async () => {
  const clock = fakeClock();
  const book = new FaultBook(clock);
  book.add(rule({ what: "drop", after: 1, count: 2, fromMs: 100, forMs: 1_000 }));
  expect(book.decide(frame())).toBeNull();
  await clock.advance(100);
  expect([1, 2, 3, 4].map(() => book.decide(frame()) !== null)).toEqual([false, true, true, false]);
  expect(book.list()[0]).toMatchObject({ fits: 3, happened: 2, isOver: true });
  expect(book.has("frame")).toBe(false);
  book.add(rule({ what: "drop", forMs: 50 }));
  await clock.advance(50);
  expect(book.decide(frame())).toBeNull();
  expect(book.list()[1]).toMatchObject({ happened: 0, isOver: true });
});

test("decisions follow from the seed, whatever other faults there are", () => {
  const decisions = (seed: number, others: number): string => {
    const book = new FaultBook(fakeClock());
    for (let n = 0; n < others; n += 1) book.add(rule({ what: "delay", where: { kind: "WORKER_READY" }, seed: n }));
    const { id } = book.add(rule({ what: "drop", probability: 0.5, seed }));
    return Array.from({ length: 40 }, () => (book.decide(frame())?.id === id ? "1" : "0")).join("");
  };
  expect(decisions(5, 0)).toBe(decisions(5, 3));
  expect(decisions(5, 0)).not.toBe(decisions(6, 0));
  expect(decisions(5, 0)).toMatch(/1.*0.*1/);
});

test("the first fault in the order of adding is the one that happens", () => {
  const book = new FaultBook(fakeClock());
  book.add(rule({ what: "delay" }));
  book.add(rule({ what: "drop" }));
  expect(book.decide(frame())?.rule.what).toBe("delay");
});

test("what is delayed keeps its order, what is held back is overtaken once, and a flush loses nothing", async () => {
  const clock = fakeClock();
  const out: string[] = [];
  const lane = new Lane<string>({ clock, timers: clock, deliver: (item) => void out.push(item) });
  lane.pass("a", 100);
  lane.pass("b");
  expect(out).toEqual([]);
  await clock.advance(100);
  expect(out).toEqual(["a", "b"]);
  lane.hold("c", 1_000);
  lane.pass("d");
  expect(out).toEqual(["a", "b", "d", "c"]);
  lane.hold("e", 1_000);
  await clock.advance(1_000);
  lane.pass("f", 500);
  lane.hold("g", 1_000);
  lane.flush();
  expect(out.slice(4)).toEqual(["e", "f", "g"]);
  expect(lane.isEmpty).toBe(true);
});
