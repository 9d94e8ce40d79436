import { silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { type ExecutorRequest, encodeJsonBytes, type GatewayFrame, parseJsonBytes } from "@holdfast/protocol";
import { createDatabase, waitFor } from "@holdfast/testing";
import { expect, inject, test } from "vitest";
import type { AgentSession } from "../../src/engine/agents.ts";
import { Engine } from "../../src/engine/engine.ts";
import { DEFAULT_ENGINE_SETTINGS } from "../../src/engine/ports.ts";
import { openPostgresStore, type Store } from "../../src/store/index.ts";
import { type Payload, replyOf } from "./agent.ts";
import { did, op } from "./harness.ts";

const APP = {
  id: "shop",
  version: "1",
  sdk: "test",
  functions: [
    {
      slug: "shop-order",
      name: "order",
      triggersJson: '[{"event":"shop/order"}]',
      configJson: '{"id":"shop-order","triggers":[{"event":"shop/order"}],"steps":{}}',
    },
  ],
};

function engineOf(store: Store, gatewayId: string): Engine {
  return new Engine({
    store,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    log: silentLog,
    call: () => Promise.reject(new Error("nothing is fetched here")),
    chooseSlot: (slots) => [...slots][0],
    settings: { ...DEFAULT_ENGINE_SETTINGS, gatewayId, requestAckMs: 60_000, reconnectGraceMs: 60_000 },
  });
}

/** Claims of this store find no timers, until one is let through; its answer then comes when the test says so. */
function holdingClaims(store: Store) {
  let lets = false;
  let held: (() => void) | null = null;
  const claim: Store["claim"] = async ({ wants, ...rest }) => {
    const jobs = await store.claim({
      ...rest,
      wants: lets ? wants : wants.filter(({ functionId }) => functionId !== ""),
    });
    if (jobs.some(({ kind }) => kind === "timer")) {
      lets = false;
      await new Promise<void>((resolve) => {
        held = resolve;
      });
    }
    return jobs;
  };
  return {
    store: { ...store, claim },
    let: () => {
      lets = true;
    },
    held: () => held,
  };
}

test("a step that is stored while its gateway reads the run for something else is not given out again", async () => {
  const db = await createDatabase(inject("postgresUrl"));
  const store = openPostgresStore({ url: db.url, maxConnections: 5 });
  await store.migrate();
  const claims = holdingClaims(store);
  const one: Store["claim"] = ({ wants, ...rest }) =>
    store.claim({ ...rest, wants: wants.map((want) => ({ ...want, limit: 1 })) });
  const [here, other] = [engineOf(claims.store, "here"), engineOf({ ...store, claim: one }, "other")];
  try {
    await here.register([APP]);
    const frames: GatewayFrame[] = [];
    const session: AgentSession = {
      id: "session",
      instanceId: "instance",
      functionIds: ["shop-order"],
      apps: [APP],
      capacity: 10,
      extensions: new Set(["checkpoint"] as const),
      heartbeatMs: 10_000,
      leaseMs: 60_000,
      extendLeaseMs: 60_000,
      seenMs: 0,
      send: (frame) => void frames.push(frame),
    };
    const agent = here.attach(session, true);
    const next = <Kind extends GatewayFrame["kind"]>(kind: Kind) =>
      waitFor(
        () => {
          const index = frames.findIndex((frame) => frame.kind === kind);
          return index < 0 ? undefined : (frames.splice(index, 1)[0] as Extract<GatewayFrame, { kind: Kind }>);
        },
        { what: kind },
      );
    const checkpoint = (sequence: number, { requestId, runId, leaseId }: ExecutorRequest, ops: object[]) => {
      agent.receive({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence, ops: encodeJsonBytes(ops) });
      return next("GATEWAY_CHECKPOINT_ACK");
    };
    const settled = (runId: string, count: number) =>
      waitFor(
        async () => {
          const [run] = await store.loadRuns([runId]);
          return run?.log.filter(({ kind }) => kind === "STEP_COMPLETED").length === count;
        },
        { what: `${count} finished steps` },
      );
    await here.sendEvents([{ name: "shop/order", data: {} }]);
    const first = await next("GATEWAY_EXECUTOR_REQUEST");
    await checkpoint(1, first, [op("Sleep", "s1", { name: "1ms" }), op("Sleep", "s2", { name: "1ms" })]);
    // Another gateway decides on the run, so that what the claim here reads is newer than what is known here.
    await waitFor(async () => (await other.tick()) > 0, { what: "one sleep to be due" });
    await settled(first.runId, 1);
    claims.let();
    const answer = await waitFor(() => claims.held(), { what: "the other sleep to be claimed" });
    expect(await checkpoint(2, first, [did("a")])).toMatchObject({ outcome: "stored" });
    answer();
    await settled(first.runId, 3);
    agent.receive({ kind: "WORKER_REPLY", ...replyOf(first, { value: [op("Sleep", "s1", { name: "1ms" })] }) });
    const { requestPayload } = await next("GATEWAY_EXECUTOR_REQUEST");
    const { steps } = parseJsonBytes(requestPayload, "payload") as Payload;
    expect(Object.keys(steps).sort()).toEqual(["a", "s1", "s2"]);
  } finally {
    claims.held()?.();
    await Promise.all([here.stop(), other.stop()]);
    await store.close();
    await db.drop();
  }
});
