import type { ClaimLimits, LeaseExtension, LimitedClaim, Store } from "@holdfast/store";
import { describe, expect, test } from "vitest";

import { newId, type SeededRun, seedRun, useStore } from "./harness.ts";
import { whileHeld } from "./held-writes.ts";

/** Two stores take places at the same moment: one stands right before its commit while the other one begins. */
const bench = useStore();

const HELD = { table: "queue", when: "new.leased_by = 'held'" } as const;
const ONE: ClaimLimits = { slots: [1], throttle: null, shared: false };
const SHARED: ClaimLimits = { ...ONE, shared: true };
const PACED: ClaimLimits = { slots: [], throttle: { everyMs: 600_000, burst: 1 }, shared: false };

const seed = (functionId: string, slot: string | null, throttle: string | null = null): Promise<SeededRun> => {
  const lane = { id: throttle ? `aa~${throttle}` : "aa", slots: slot === null ? [] : [slot], throttle };
  // Each goes before those that were there, so that whoever comes second does not choose what is locked already.
  priority += 1;
  return seedRun(bench.store, { run: { functionId }, job: { lane, priority } });
};
let priority = 0;

const claim = (store: Store, gatewayId: string, functionId: string, limits: ClaimLimits): Promise<LimitedClaim> =>
  store.claimLimited({ gatewayId, wants: [{ functionId, limit: 10, leaseMs: 60_000, limits }] });

/** A lease of a job of this function that was returned: its worker may still come and take it up again. */
async function givenBack(functionId: string, slot: string, limits: ClaimLimits): Promise<LeaseExtension> {
  await seed(functionId, slot);
  const { jobs } = await claim(bench.store, "before", functionId, limits);
  expect(jobs).toHaveLength(1);
  const fence = { jobId: jobs[0]?.id ?? "", epoch: jobs[0]?.epoch ?? 0 };
  expect(await bench.store.releaseLeases([{ ...fence, lost: false }])).toEqual([true]);
  return { ...fence, gatewayId: "other", leaseMs: 60_000, functionId, limits };
}

interface Scene {
  /** Takes the one place; held before its commit. */
  readonly first: () => Promise<number>;
  /** Must find no place. Both say how many they took. */
  readonly second: () => Promise<number>;
}

const taken = async (claimed: Promise<LimitedClaim>): Promise<number> => (await claimed).jobs.length;
const extended = async (store: Store, lease: LeaseExtension): Promise<number> =>
  (await store.extendLeases([lease])).filter(Boolean).length;

const scenes: Record<string, (other: Store) => Promise<Scene>> = {
  "claim and claim": async (other) => {
    const fn = `fn-${newId()}`;
    await seed(fn, `place ${fn}`);
    return {
      first: () => taken(claim(bench.store, "held", fn, ONE)),
      second: async () => {
        await seed(fn, `place ${fn}`);
        return taken(claim(other, "other", fn, ONE));
      },
    };
  },
  "claims of two functions that share a place": async (other) => {
    const [one, two] = [`fn-${newId()}`, `fn-${newId()}`];
    for (const fn of [one, two]) await seed(fn, `shared ${one}`);
    return {
      first: () => taken(claim(bench.store, "held", one, SHARED)),
      second: () => taken(claim(other, "other", two, SHARED)),
    };
  },
  "a claim, and a lease that is taken up again": async (other) => {
    const fn = `fn-${newId()}`;
    const lease = await givenBack(fn, `place ${fn}`, ONE);
    await seed(fn, `place ${fn}`);
    return {
      first: () => taken(claim(bench.store, "held", fn, ONE)),
      second: () => extended(other, lease),
    };
  },
  "a lease that is taken up again, and a claim": async (other) => {
    const fn = `fn-${newId()}`;
    const lease = { ...(await givenBack(fn, `place ${fn}`, ONE)), gatewayId: "held" };
    await seed(fn, `place ${fn}`);
    return {
      first: () => extended(bench.store, lease),
      second: () => taken(claim(other, "other", fn, ONE)),
    };
  },
  "two leases that are taken up again, of functions that share a place": async (other) => {
    const [one, two] = [`fn-${newId()}`, `fn-${newId()}`];
    const held = { ...(await givenBack(one, `shared ${one}`, SHARED)), gatewayId: "held" };
    const lease = await givenBack(two, `shared ${one}`, SHARED);
    return { first: () => extended(bench.store, held), second: () => extended(other, lease) };
  },
  "first starts that one throttle paces": async (other) => {
    const fn = `fn-${newId()}`;
    await seed(fn, null, "pace");
    return {
      first: () => taken(claim(bench.store, "held", fn, PACED)),
      second: async () => {
        await seed(fn, null, "pace");
        return taken(claim(other, "other", fn, PACED));
      },
    };
  },
};

describe.each(Object.entries(scenes))("Concurrency slots: %s", (_, prepare) => {
  test("the second claim waits and finds no free slot", async () => {
    const { first, second } = await prepare(bench.another());
    expect(await whileHeld(bench.db.sql, HELD, first, second)).toEqual({ first: 1, second: 0, waited: true });
  });

  test("without the lock both claims succeed, which shows that the lock is what prevents it", async () => {
    const { first, second } = await prepare(bench.another());
    const lock = "holdfast.lock_places(functions text[], shared boolean) RETURNS void LANGUAGE";
    const [row] = await bench.db.sql`SELECT prosrc FROM pg_proc WHERE proname = 'lock_places'`;
    await bench.db.sql.unsafe(`CREATE OR REPLACE FUNCTION ${lock} sql AS 'SELECT'`);
    try {
      expect(await whileHeld(bench.db.sql, HELD, first, second)).toMatchObject({ first: 1, second: 1 });
    } finally {
      await bench.db.sql.unsafe(`CREATE OR REPLACE FUNCTION ${lock} plpgsql AS $lock$${row?.prosrc}$lock$`);
    }
  });
});
