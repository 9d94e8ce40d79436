import { fakeClock } from "@holdfast/testing";
import { expect, it } from "vitest";
import { createAvailability, SETTLE_MS } from "../../src/store-postgres/connection/availability.ts";

function start() {
  const clock = fakeClock();
  const said: string[] = [];
  const availability = createAvailability({
    url: "postgres://user:s3cret-word@host/db",
    timers: clock,
    monotonicMs: () => clock.monotonicMs(),
    log: (level, message) => void said.push(`${level} ${message}`),
  });
  const refused = Object.assign(new Error("connect ECONNREFUSED, password s3cret-word"), { code: "ECONNREFUSED" });
  return { clock, availability, said, refused };
}

it("one broken database connection is not an outage", async () => {
  const { clock, availability, said, refused } = start();
  availability.recordTrouble(refused, "connection");
  await clock.advance(100);
  availability.recordAnswer();
  await clock.advance(10_000);
  availability.recordTrouble(refused, "connection");
  expect(availability.health()).toMatchObject({ ok: true, awayMs: 0, error: null, outages: 0 });
  await availability.settled(new AbortController().signal);
  expect(said).toEqual([]);
});

it("an outage and its end are logged once; claims wait until leases could be extended", async () => {
  const { clock, availability, said, refused } = start();
  for (let tries = 0; tries < 10; tries++) {
    availability.recordTrouble(refused, "connection");
    await clock.advance(300);
  }
  expect(availability.health()).toMatchObject({ ok: false, awayMs: 3000, outages: 1 });
  expect(availability.health().error).not.toContain("s3cret");
  availability.recordAnswer();
  expect(availability.health()).toMatchObject({ ok: true, awayMs: 0, awayMsTotal: 3000, outages: 1 });
  let settled = false;
  const waiting = availability.settled(new AbortController().signal).then(() => {
    settled = true;
  });
  await clock.advance(SETTLE_MS - 1);
  expect(settled).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(said).toHaveLength(2);
  expect(said[0]).toMatch(/^error The database is away: /);
  expect(said[1]).toMatch(/^warn The database is back after 3\.0 s/);
});

it("after an answer that was long in coming claims wait until leases could be extended", async () => {
  const { clock, availability, said } = start();
  const signal = new AbortController().signal;
  availability.recordDuration(4_999);
  await availability.settled(signal);
  availability.recordDuration(21_000);
  let settled = false;
  const waiting = availability.settled(signal).then(() => {
    settled = true;
  });
  await clock.advance(SETTLE_MS - 1);
  expect(settled).toBe(false);
  await clock.advance(1);
  await waiting;
  expect(said).toEqual([
    "warn The database took 21.0 s to answer. Leases that expired meanwhile are kept for their workers for 3 s.",
  ]);
});

it("a database that answers reads and finishes no write is away until something is written", async () => {
  const { clock, availability, said } = start();
  availability.recordNoAnswer();
  expect([availability.refuses, availability.health().ok]).toEqual([true, true]);
  availability.recordAnswer();
  await clock.advance(2_000);
  expect(availability.health()).toMatchObject({ ok: false, outages: 1 });
  availability.recordAnswer();
  expect(availability.health().ok).toBe(false);
  availability.recordWrite();
  expect([availability.refuses, availability.health().ok]).toEqual([false, true]);
  expect(said[0]).toMatch(/^error The database does not finish writes: no write has ended for some seconds/);
  expect(said[1]).toMatch(/^warn The database is back after 2\.0 s/);
});

it("one statement that waits for long is no outage where other writes end", async () => {
  const { clock, availability, said } = start();
  availability.recordNoAnswer();
  availability.recordWrite();
  await clock.advance(10_000);
  expect([availability.refuses, availability.health().ok, said]).toEqual([false, true, []]);
});

it("a store that stops does not wait for the end of an outage", async () => {
  const { clock, availability, refused } = start();
  availability.recordTrouble(refused, "connection");
  await clock.advance(1000);
  availability.recordTrouble(refused, "connection");
  availability.recordAnswer();
  await availability.settled(AbortSignal.abort());
});

it("transactions rolled back by the server are counted and logged occasionally", async () => {
  const { clock, availability, said } = start();
  const deadlock = Object.assign(new Error("deadlock detected"), { code: "40P01" });
  for (let times = 0; times < 5; times++) availability.recordTrouble(deadlock, "conflict");
  await clock.advance(10_000);
  availability.recordTrouble(deadlock, "conflict");
  expect(availability.health()).toMatchObject({ ok: true, conflicts: 6 });
  expect(said).toHaveLength(2);
  expect(said[1]).toContain("5 times");
});

it("a database that rejects writes counts as unavailable although it answers reads, until a write succeeds", async () => {
  const { clock, availability, said } = start();
  const full = Object.assign(new Error("No space left on device"), { code: "53100" });
  availability.recordTrouble(full, "unwritable");
  await clock.advance(10_000);
  expect(availability.health().ok, "it may be the call's own trouble").toBe(true);
  for (let tries = 0; tries < 100; tries++) {
    availability.recordTrouble(full, "unwritable");
    availability.recordRefusal(full);
    availability.recordAnswer();
    await clock.advance(100);
  }
  expect(availability.refuses).toBe(true);
  expect(availability.health()).toMatchObject({ ok: false, outages: 1, error: expect.stringContaining("53100") });
  availability.recordWrite();
  expect(availability.refuses).toBe(false);
  expect(availability.health()).toMatchObject({ ok: true, outages: 1 });
  expect(said).toHaveLength(2);
  expect(said[0]).toMatch(/^error The database accepts no writes: No space left/);
  expect(said[1]).toContain("101 calls failed meanwhile");
});
