/** A watcher's way between shared pages and the store, turn by turn: the reader looks when the test says. */
import { nextTurn, silentLog } from "@holdfast/core";
import { createMemoryDatabase, type MemoryDatabase } from "@holdfast/store";
import { type FakeClock, fakeClock } from "@holdfast/testing";
import { afterEach, expect, test } from "vitest";
import { seedLeased, stepDone } from "../../../packages/store/test/contract/harness.ts";
import { LogReader } from "../../src/live/log-reader.ts";
import { Watch, type Watched } from "../../src/live/watch.ts";

const ALL = { runIds: [], functionIds: null };
const readers: LogReader[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.close();
});

function database(): MemoryDatabase {
  let count = 0;
  const newUuid = (): string => `uuid-${++count}`;
  return createMemoryDatabase({ clock: fakeClock(), soon: setImmediate, newUuid, secret: "s" });
}

/** A gateway of the database, whose reader looks only when its clock moves. */
function gateway(on: MemoryDatabase) {
  const clock = fakeClock();
  const store = on.open();
  const reader = new LogReader({ store, clock, timers: clock, log: silentLog });
  readers.push(reader);
  return { clock, store, reader, watch: (position: string | null) => new Watch(reader, clock, ALL, position) };
}

async function turns(): Promise<void> {
  for (let n = 0; n < 30; n += 1) await nextTurn();
}

/** What it resolves to, while the clock moves on by one look at most each time. */
async function soon<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const done = promise.finally(() => {
    isOver = true;
  });
  for (let n = 0; n < 100 && !isOver; n += 1) {
    await turns();
    if (!isOver) await clock.advance(25);
  }
  return done;
}

const keysOf = (watched: Watched): string[] =>
  watched.type === "CHANGES" ? watched.changes.flatMap(({ facts }) => facts.map(({ key }) => key)) : [watched.type];

test("a watcher that comes from a gateway which has read further sees nothing twice", async () => {
  const on = database();
  const [ahead, behind] = [gateway(on), gateway(on)];
  const run = await seedLeased(ahead.store);
  const kept = behind.watch(null);
  await soon(behind.clock, kept.begin());
  const first = ahead.watch(null);
  await soon(ahead.clock, first.begin());
  await ahead.store.commit(stepDone(run, "a"));
  const seen = await soon(ahead.clock, first.next(10_000));
  expect(keysOf(seen)).toEqual(["a"]);
  // The other gateway has not looked since: its pages will have that row again.
  const again = behind.watch(seen.type === "CHANGES" ? seen.position : null);
  const next = soon(behind.clock, again.next(60_000));
  await turns();
  await ahead.store.commit(stepDone(run, "b"));
  expect(keysOf(await next)).toEqual(["b"]);
  expect(keysOf(await soon(behind.clock, kept.next(10_000)))).toContain("a");
});

test("a watcher that falls behind what is kept reads on by itself, and misses nothing", async () => {
  const { clock, store, reader, watch } = gateway(database());
  const runs = await Promise.all(Array.from({ length: 20 }, () => seedLeased(store)));
  const [slow, quick] = [watch(null), watch(null)];
  await soon(clock, slow.begin());
  await soon(clock, quick.begin());
  const wanted: string[] = [];
  for (let round = 0; round < 300; round += 1) {
    const keys = runs.map((_, index) => `${round}-${index}`);
    wanted.push(...keys);
    await Promise.all(runs.map((run, index) => store.commit(stepDone(run, keys[index] ?? ""))));
    await clock.advance(25);
    await turns();
  }
  expect(reader.page(1)).toBe("gone");
  const seen: string[] = [];
  while (seen.length < wanted.length) {
    const watched = await soon(clock, slow.next(1_000));
    expect(watched.type).toBe("CHANGES");
    seen.push(...keysOf(watched));
  }
  expect(seen.sort()).toEqual(wanted.sort());
  expect(keysOf(await soon(clock, slow.next(100)))).toEqual(["QUIET"]);
});

test("what a watcher is given at a time is bounded, however much a page holds", async () => {
  const { clock, store, watch } = gateway(database());
  const run = await seedLeased(store);
  const watcher = watch(null);
  await soon(clock, watcher.begin());
  const text = JSON.stringify({ data: "x".repeat(15_000) });
  const keys = Array.from({ length: 30 }, (_, n) => `key-${n}`);
  await Promise.all(keys.map((key) => store.commit(stepDone(run, key, 1, text))));
  const seen: string[] = [];
  while (seen.length < keys.length) {
    const some = keysOf(await soon(clock, watcher.next(1_000)));
    expect(some.length).toBeLessThanOrEqual(5);
    seen.push(...some);
  }
  expect(seen.sort()).toEqual(keys.sort());
});

test("a watcher that comes back after too long is told so", async () => {
  const on = database();
  const { clock, store, watch } = gateway(on);
  const old = await store.logEnd();
  // More than a store in memory remembers of all runs together.
  for (let n = 0; n < 410; n += 1) await Promise.all(Array.from({ length: 100 }, () => seedLeased(store)));
  expect(await soon(clock, watch(old).next(1_000))).toEqual({ type: "TOO_OLD" });
});

test("where a gateway closes its streams each watcher is told so, also one that waits", async () => {
  const { clock, reader, watch } = gateway(database());
  const watcher = watch(null);
  const next = soon(clock, watcher.next(60_000));
  await turns();
  await reader.close();
  expect(await next).toEqual({ type: "CLOSED" });
});
