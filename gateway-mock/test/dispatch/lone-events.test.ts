/** What leaves first when an event is stored: the request that it starts, or the answer to its sender. */
import { seededRandom, silentLog } from "@holdfast/core";
import type { IntakeOutcome } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { EventIntake, type EventIntakeParts } from "../../src/dispatch/events/event-intake.ts";
import { Notices } from "../../src/dispatch/notices.ts";
import { type DispatcherOptions, newCounters } from "../../src/dispatch/ports.ts";
import { Spans } from "../../src/dispatch/spans.ts";

/** An intake whose store answers when it is told to, and whose every event starts a run at one worker. */
function bench() {
  const seen: string[] = [];
  const open: (() => void)[] = [];
  const store = {
    intake: (items: readonly { readonly event: { readonly id: string } }[]) =>
      new Promise<IntakeOutcome[]>((resolve) => {
        const stored = { duplicate: false, outdated: false, atMs: 1, seq: 1, awaited: false };
        open.push(() => resolve(items.map(({ event }) => ({ ...stored, eventId: event.id }) as IntakeOutcome)));
      }),
  };
  const clock = fakeClock();
  const options = { clock, timers: clock, random: seededRandom(1), log: silentLog, store, settings: {} };
  const worker = { session: { flush: () => seen.push("flushed") } };
  const run = { run: { id: "run", functionId: "f", appId: "app", appVersion: "1" }, log: [], jobs: [] };
  const started = { runs: [run], windows: [], leased: [{ run, worker, job: { functionId: "f" } }] };
  const parts = {
    runs: { retain: () => {}, keepNew: () => {}, release: () => {} },
    workers: { release: () => seen.push("released") },
    functions: { version: 1, triggeredForCertain: () => [{}], graphs: { mayStart: () => false } },
    time: { nowMs: () => 1, isDoubtful: false },
    starter: { reader: () => ({}), start: () => started },
    counters: newCounters(),
    notices: new Notices(({ type }) => seen.push(type)),
    snapshots: {},
    spans: new Spans(),
    notifyLease: () => null,
  };
  const intake = new EventIntake(
    options as unknown as DispatcherOptions,
    parts as unknown as EventIntakeParts,
    (effect) => seen.push(effect.do),
  );
  const send = (count = 1): Promise<void> =>
    intake
      .send(
        Array.from({ length: count }, () => ({ name: "shop/order", data: {} })),
        {},
      )
      .then(() => void seen.push("answered"));
  /** What the store was asked for so far is stored. */
  const answer = async (): Promise<void> => {
    await turn();
    for (const resolve of open.splice(0)) resolve();
  };
  return { seen, send, answer };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the request of a lone event leaves before its sender is answered, what is logged of it after that", async () => {
  const { seen, send, answer } = bench();
  const sent = send();
  await answer();
  await sent;
  expect(seen).toEqual(["DISPATCH", "flushed", "answered"]);
  await turn();
  await turn();
  expect(seen).toEqual(["DISPATCH", "flushed", "answered", "EVENT_STORED"]);
});

test("where more events are being stored their requests leave together, at the end of the turn", async () => {
  const { seen, send, answer } = bench();
  const sent = Array.from({ length: 20 }, () => send());
  await answer();
  await Promise.all(sent);
  expect(seen.filter((one) => one === "DISPATCH")).toHaveLength(20);
  // For the last one no other is being stored any more: it takes those before it along.
  expect(seen.filter((one) => one === "flushed").length).toBeLessThanOrEqual(1);
  const first = seen.indexOf("flushed");
  if (first >= 0) expect(seen.slice(0, first).filter((one) => one === "DISPATCH")).toHaveLength(20);
});

test("a large request is answered before what it starts is sent one by one", async () => {
  const { seen, send, answer } = bench();
  const sent = send(9);
  await answer();
  await sent;
  expect(seen).not.toContain("flushed");
});

test("a later event finds nothing left of the ones before it", async () => {
  const { seen, send, answer } = bench();
  const many = [send(), send(), send()];
  await answer();
  await Promise.all(many);
  seen.length = 0;
  const sent = send();
  await answer();
  await sent;
  expect(seen.slice(0, 3)).toEqual(["DISPATCH", "flushed", "answered"]);
});
