import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { type Cluster, type ClusterOptions, functionsKnown, inCluster, withoutNotifications } from "./cluster.ts";
import { duplicates } from "./effects.ts";

const FLOW_FUNCTIONS = 8;
/** Of the function with limits. */
const RUNS = 150;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const notes = (cluster: Cluster, start: string): string[] =>
  cluster.journal.entries().flatMap(({ what }) => (what.startsWith(start) ? [what.slice(start.length)] : []));

/** Three gateways; two instances of one app at the first and the second, none at the third. */
async function inFlow(options: Partial<ClusterOptions>, body: (cluster: Cluster) => Promise<void>): Promise<void> {
  await inCluster({ gateways: 3, ...options }, async (cluster) => {
    // Five places are shared by two instances that take three each.
    const app = { functions: "flow", concurrency: 3 };
    await Promise.all([0, 1].map((at) => cluster.startApp({ ...app, url: cluster.member(at).url })));
    await Promise.all(cluster.members.map((member) => functionsKnown(member, FLOW_FUNCTIONS)));
    await body(cluster);
    expect(duplicates(cluster.journal)).toEqual([]);
    expect(await cluster.logged("LEASE_LOST")).toBe(0);
  });
}

/** Sends events one by one, to all gateways side by side: three that follow each other meet. */
const sendAtOnce = (cluster: Cluster, name: string, data: readonly object[]): Promise<unknown> =>
  Promise.all(
    cluster.members.map(async ({ api, index }) => {
      for (let n = index; n < data.length; n += cluster.members.length) await api.send([{ name, data: data[n] }]);
    }),
  );

/** Until nothing stands between events and runs any more, and the runs have ended. */
const quiet = (cluster: Cluster): Promise<unknown> =>
  waitFor(
    async () => {
      const [row] = await cluster.sql`SELECT count(*)::int AS count FROM holdfast.queue`;
      return row?.count === 0;
    },
    { what: "every job to be done", timeoutMs: 60_000, context: async () => JSON.stringify(await cluster.statuses()) },
  );

async function debounced(cluster: Cluster): Promise<void> {
  const keys = ["a", "b", "c"];
  await sendAtOnce(
    cluster,
    "test/debounced",
    numbers(60).map((n) => ({ key: keys[n % 3], n })),
  );
  // The last ones, each at another gateway than the one before.
  for (const [at, key] of keys.entries())
    await cluster.member(at).api.send([{ name: "test/debounced", data: { key, n: 100 + at } }]);
  await quiet(cluster);
  expect(notes(cluster, "debounced ").toSorted()).toEqual(["a 100", "b 101", "c 102"]);
}

/** Runs that wait for an event, then a signal, then another function; each of these comes at other gateways, twice. */
async function talked(cluster: Cluster, count: number): Promise<void> {
  const waiting = (kind: string): Promise<unknown> =>
    waitFor(
      async () => {
        const [row] = await cluster.sql`SELECT count(*)::int AS count FROM holdfast.waits WHERE kind = ${kind}`;
        return row?.count === count;
      },
      { what: `${count} waits of kind ${kind}`, timeoutMs: 60_000 },
    );
  const elsewhere = numbers(count).flatMap((n) => [1, 2].map((by) => ({ n, member: cluster.member((n + by) % 3) })));
  await sendAtOnce(
    cluster,
    "test/talk",
    numbers(count).map((n) => ({ n })),
  );
  await waiting("event");
  await Promise.all(elsewhere.map(({ n, member }) => member.api.send([{ name: "test/answer", data: { n } }])));
  await waiting("signal");
  const answers = await Promise.all(
    elsewhere.map(async ({ n, member }) => {
      const body = JSON.stringify({ signal: `go ${n}`, data: `went ${n}` });
      return (await fetch(new URL("/v1/signals", member.url), { method: "POST", body })).status;
    }),
  );
  // Of two that send the same signal one is told that nothing waits any more.
  expect(answers.toSorted()).toEqual([...numbers(count).map(() => 200), ...numbers(count).map(() => 404)]);
  await quiet(cluster);
  const outputs = await cluster.sql`
    SELECT output::json AS output FROM holdfast.runs WHERE function_id = 'long-talk' AND status = 'COMPLETED'`;
  const sorted = outputs.map(({ output }) => output).toSorted((a, b) => a.n - b.n);
  expect(sorted).toEqual(numbers(count).map((n) => ({ n, answered: n, signalled: `went ${n}`, doubled: n * 2 })));
  for (const what of ["answered", "signalled", "double", "called"]) expect(notes(cluster, what)).toHaveLength(count);
}

const called = { functions: "called", env: { HOLDFAST_TEST_APP_ID: "called" } };

describe("Flow control with three gateways and an app at each of two", () => {
  test("debounce starts three runs for 63 events of three keys, each with its last event", async () => {
    await inFlow({}, debounced);
  });

  test("batchEvents puts each of 300 events into exactly one batch of its key", async () => {
    await inFlow({}, async (cluster) => {
      const members = numbers(300).map((n) => ({ key: `k${Math.floor(n / 3) % 2}`, n }));
      await sendAtOnce(cluster, "test/batched", members);
      await quiet(cluster);
      const batches = notes(cluster, "batched ").map((text) => text.split(" "));
      const expected = members.map(({ key, n }) => `${key}:${n}`).toSorted();
      expect(batches.flat().toSorted()).toEqual(expected);
      for (const batch of batches) {
        expect(batch.length).toBeLessThanOrEqual(10);
        expect(new Set(batch.map((member) => member.split(":")[0])).size).toBe(1);
      }
    });
  });

  test("throttle paces the starts of all gateways together, and rateLimit drops excess events", async () => {
    await inFlow({}, async (cluster) => {
      const startedMs = Date.now();
      await Promise.all([
        sendAtOnce(
          cluster,
          "test/throttled",
          numbers(9).map((n) => ({ n })),
        ),
        sendAtOnce(
          cluster,
          "test/rated",
          numbers(180).map((n) => ({ key: `k${Math.floor(n / 6)}`, n })),
        ),
      ]);
      await quiet(cluster);
      for (const key of numbers(30)) expect(notes(cluster, `rated k${key} `)).toHaveLength(3);
      const entries = cluster.journal.entries().filter(({ what }) => what.startsWith("throttled "));
      expect(entries.map(({ what }) => Number(what.split(" ").at(-1))).toSorted()).toEqual(numbers(9));
      // Two at once, then one each half second: no machine is so fast that it may be earlier. Clocks round.
      const afterMs = entries.map(({ at }) => at - startedMs).toSorted((a, b) => a - b);
      for (const [n, ms] of afterMs.entries()) expect(ms).toBeGreaterThanOrEqual((n - 1) * 500 - 5);
    });
  });

  test("singleton lets one run continue of events at all gateways at once, the first or the last", async () => {
    await inFlow({}, async (cluster) => {
      const three = numbers(60).map((n) => ({ key: `k${Math.floor(n / 3)}`, n }));
      await sendAtOnce(cluster, "test/skipping", three);
      await sendAtOnce(cluster, "test/replacing", three);
      const last = numbers(20).map((n) => ({ name: "test/replacing", data: { key: `k${n}`, n: 100 + n } }));
      await cluster.member(2).api.send(last);
      await waitFor(async () => (await cluster.statuses()).CANCELLED === 60, {
        what: "60 runs to give way",
        timeoutMs: 60_000,
        context: async () => JSON.stringify(await cluster.statuses()),
      });
      cluster.journal.open("end");
      await quiet(cluster);
      expect(await cluster.statuses()).toEqual({ COMPLETED: 40, CANCELLED: 60 });
      for (const key of numbers(20)) expect(notes(cluster, `skipping k${key} `)).toHaveLength(1);
      const outputs = await cluster.sql`SELECT output::int AS n FROM holdfast.runs
        WHERE function_id = 'long-replacing' AND status = 'COMPLETED' ORDER BY n`;
      expect(outputs.map(({ n }) => n)).toEqual(numbers(20).map((n) => 100 + n));
      // Its place is free again.
      await cluster.member(2).api.send([{ name: "test/skipping", data: { key: "k0", n: 99 } }]);
      await cluster.ended(101);
      expect(notes(cluster, "skipping k0 ")[1]).toBe("99");
    });
  });

  test.each([
    { protocol: "extensions", plain: false },
    { protocol: "plain", plain: true },
  ])(
    "concurrency never runs more bodies at once than the limits of the key and the function, $protocol",
    async ({ plain }) => {
      await inFlow({ plain }, async (cluster) => {
        const keys = ["a", "b", "c"];
        await sendAtOnce(
          cluster,
          "test/limited",
          numbers(RUNS).map((n) => ({ key: keys[n % 3], n })),
        );
        await waitFor(() => notes(cluster, "in ").length === 5, { what: "all places to be taken", timeoutMs: 60_000 });
        expect(new Set(cluster.journal.entries().map(({ pid }) => pid)).size).toBe(2);
        cluster.journal.open("first");
        await waitFor(() => notes(cluster, "in ").filter((text) => text.endsWith("second")).length > 0, {
          what: "a second step",
          timeoutMs: 60_000,
        });
        cluster.journal.open("second");
        await cluster.ended(RUNS);
        expect(await cluster.statuses()).toEqual({ COMPLETED: RUNS });
        expect(notes(cluster, "out ")).toHaveLength(RUNS * 2);
        // Lines of the journal are in the order of things, over both apps.
        expect(mostAtOnce(cluster, "")).toBe(5);
        for (const key of keys) expect(mostAtOnce(cluster, key)).toBe(2);
      });
    },
  );

  test("duplicate events, signals and results at other gateways end waitForEvent, waitForSignal and invoke once", async () => {
    await inFlow({}, async (cluster) => {
      await cluster.startApp({ ...called, url: cluster.member(2).url });
      await talked(cluster, 24);
    });
  });

  test("debounce, waitForEvent, signals and invoke work without NOTIFY", async () => {
    await inFlow({ through: withoutNotifications }, async (cluster) => {
      await cluster.startApp({ ...called, url: cluster.member(2).url });
      await debounced(cluster);
      await talked(cluster, 6);
    });
  });

  test("cron fires every tick once, also while an app connects and another disconnects", async () => {
    await inCluster({ gateways: 3, allEnd: false }, async (cluster) => {
      const first = await cluster.startApp({ functions: "cron", url: cluster.member(0).url });
      const ticks = (): string[] => notes(cluster, "*");
      const upTo = (count: number): Promise<unknown> =>
        waitFor(() => ticks().length >= count, { what: `${count} ticks`, timeoutMs: 60_000 });
      await upTo(3);
      await cluster.startApp({ functions: "cron", url: cluster.member(1).url });
      await upTo(6);
      await first.kill();
      await upTo(12);
      // One run for one tick; a tick that no one was there for in time may be missing.
      const runs = await cluster.sql`
        SELECT function_id, payload::json->'data'->>'scheduledAt' AS tick, count(*)::int AS runs
        FROM holdfast.runs JOIN holdfast.whole_events AS events ON events.id = event_id GROUP BY 1, 2`;
      expect(runs.filter((row) => row.runs !== 1)).toEqual([]);
      expect(runs.length).toBeGreaterThanOrEqual(12);
      const [jobs] = await cluster.sql`SELECT count(*)::int AS count FROM holdfast.queue WHERE kind = 'cron'`;
      expect(jobs?.count).toBe(2);
      const seconds = runs.filter((row) => row.function_id === "long-other").map((row) => new Date(row.tick).getTime());
      expect(seconds.length).toBeGreaterThan(0);
      expect(seconds.filter((ms) => ms % 2000 !== 0)).toEqual([]);
    });
  });
});

/** How many bodies of a key were under way at once, at most. */
function mostAtOnce(cluster: Cluster, key: string): number {
  let [running, most] = [0, 0];
  for (const { what } of cluster.journal.entries()) {
    if (what.startsWith(`in ${key}`)) running += 1;
    else if (what.startsWith(`out ${key}`)) running -= 1;
    most = Math.max(most, running);
  }
  return most;
}
