import { isUlid, ulidFromSeed } from "@holdfast/core";
import { type ExecutorRequest, encodeJsonBytes, encodeSdkResponse, FLUSH_PATH } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { hashSigningKey } from "../../src/http/keys.ts";
import type { Gateway } from "../../src/server.ts";
import { did, ended, runDetail, SIGNING_KEY, send, start, useGateway } from "./harness.ts";
import { helloFrame, RawWorker, replyOf } from "./raw-worker.ts";

const bench = useGateway();

/** Someone who has learned what a request is called, and speaks the wire as well as its own worker does. */
interface Foreigner {
  readonly gateway: Gateway;
  readonly worker: RawWorker;
  /** A request of its own. */
  readonly own: ExecutorRequest;
  readonly victim: ExecutorRequest;
}

async function post(gateway: Gateway, path: string, body: Uint8Array | string): Promise<number> {
  return (await fetch(new URL(path, gateway.url), { method: "POST", body: body as string })).status;
}

/** What it sends was read by the gateway when this resolves, and answered as far as it is. */
async function untilHeard({ worker }: Foreigner): Promise<void> {
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
}

const madeUp = ulidFromSeed(Date.now() + 60_000, new Uint8Array(10), 0);

const extend = async ({ worker, victim }: Foreigner, leaseId: string): Promise<void> => {
  worker.send({ ...victim, kind: "WORKER_REQUEST_EXTEND_LEASE", leaseId });
  const { newLeaseId } = await worker.frame("WORKER_REQUEST_EXTEND_LEASE_ACK");
  expect(newLeaseId).toBeUndefined();
};

const checkpoint = async ({ worker, victim }: Foreigner, leaseId: string): Promise<void> => {
  const { requestId, runId } = victim;
  worker.send({
    kind: "WORKER_CHECKPOINT",
    requestId,
    runId,
    leaseId,
    sequence: 1,
    ops: encodeJsonBytes([did("evil")]),
  });
  expect((await worker.frame("GATEWAY_CHECKPOINT_ACK")).outcome).toBe("stale");
};

const refuse = async (foreigner: Foreigner, leaseId: string): Promise<void> => {
  const { requestId, runId } = foreigner.victim;
  for (const reason of ["AT_CAPACITY", "STALLED", "MALFORMED", "UNKNOWN_FUNCTION"] as const) {
    foreigner.worker.send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message: "" });
  }
  await untilHeard(foreigner);
};

const reply = async ({ worker, victim }: Foreigner, runId: string): Promise<void> => {
  worker.reply(victim, { status: "DONE", value: "pwned", runId });
  await worker.frame("WORKER_REPLY_ACK");
};

const overHttp = async ({ gateway, victim }: Foreigner, item: string): Promise<void> => {
  const body = JSON.stringify({ qi_id: item, request_id: victim.requestId, steps: [did("evil")] });
  expect(await post(gateway, `/v1/checkpoint/${victim.runId}/async`, body)).toBe(403);
};

const flush = async ({ gateway, victim }: Foreigner, more: { appId: string; runId?: string }): Promise<void> => {
  const body = encodeSdkResponse(replyOf(victim, { status: "DONE", value: "pwned", ...more }));
  // Where no worker has the request the run that it names is its own, whose work this is not: as stale as any other.
  const answers = more.runId === undefined ? [403] : [403, 200];
  expect(answers).toContain(await post(gateway, FLUSH_PATH, body));
};

const ATTACKS: Readonly<Record<string, (foreigner: Foreigner) => Promise<void>>> = {
  replies: (one) => reply(one, one.victim.runId),
  "replies and names its own run": (one) => reply(one, one.own.runId),
  acknowledges: async (one) => {
    one.worker.send({ ...one.victim, kind: "WORKER_REQUEST_ACK" });
    await untilHeard(one);
  },
  checkpoints: (one) => checkpoint(one, ""),
  "checkpoints with a lease id of its own": (one) => checkpoint(one, one.own.leaseId),
  "checkpoints with the real lease id": (one) => checkpoint(one, one.victim.leaseId),
  "extends with a lease id that is none": (one) => extend(one, "nonsense"),
  "extends with one that it made up": (one) => extend(one, madeUp),
  "extends with one of its own": (one) => extend(one, one.own.leaseId),
  "extends with the real one": (one) => extend(one, one.victim.leaseId),
  refuses: (one) => refuse(one, ""),
  "refuses with a lease id of its own": (one) => refuse(one, one.own.leaseId),
  "refuses with the real one": (one) => refuse(one, one.victim.leaseId),
  "says that it stalls": async (one) => {
    const { requestId, runId } = one.victim;
    const nothing = {
      location: "",
      codeName: "",
      leasesGivenUp: false,
      suppressed: 0,
      waiting: 0,
      waitedMs: 0,
      noCpu: false,
    };
    const stall = { stepId: "", stalledMs: 1500, stack: "", ended: false, sequence: 1, ...nothing };
    for (const functionSlug of ["shop-order", "evil-own"]) {
      one.worker.send({ kind: "WORKER_STALL", requestId, runId, functionSlug, ...stall });
    }
    await untilHeard(one);
  },
  "flushes under its own app's id": (one) => flush(one, { appId: one.own.appId }),
  "flushes under no app's id": (one) => flush(one, { appId: "" }),
  "flushes under the victim's name": (one) => flush(one, { appId: "shop" }),
  "flushes and names its own run": (one) => flush(one, { appId: one.own.appId, runId: one.own.runId }),
  "checkpoints by HTTP": (one) => overHttp(one, one.victim.requestId),
  "checkpoints by HTTP with a lease id of its own": (one) =>
    overHttp(one, `${one.victim.requestId}~${one.own.leaseId}`),
};

/** Everything durable of the run, and who has its work until when. */
async function stateOf(gateway: Gateway, runId: string): Promise<unknown> {
  const { log, jobs, status, leasesLost } = await runDetail(gateway, runId);
  return { log, jobs, status, leasesLost };
}

describe.each(["the same gateway", "another gateway"])(
  "a worker of another app at %s that knows a request's ids",
  (where) => {
    test.each(Object.keys(ATTACKS))(
      "OWNER-1, OWNER-2, OWNER-3: another app's worker that %s changes nothing",
      async (attack) => {
        // The lease is not extended meanwhile, so that a change of its end is seen.
        const here = await bench.gateway({ leaseMs: 60_000 });
        const gateway = where === "another gateway" ? await bench.gateway({ leaseMs: 60_000 }) : here;
        const owner = await bench.worker(here);
        const worker = await bench.worker(gateway, { app: "evil", functions: [{ id: "own", event: "evil/own" }] });
        const [runId = ""] = await start(here);
        const { request: victim } = await owner.request();
        await send(gateway, "evil/own");
        const { request: own } = await worker.request();
        const foreigner = { gateway, worker, own, victim };
        await untilHeard({ ...foreigner, worker: owner });
        const before = await stateOf(here, runId);
        await ATTACKS[attack]?.(foreigner);
        expect(await stateOf(here, runId)).toEqual(before);
        // The worker goes on as if nothing had been.
        expect(await owner.extend(victim)).toBeDefined();
        await owner.replied(victim, { status: "DONE", value: "mine" });
        await worker.replied(own, { status: "DONE", value: "own" });
        expect(await ended(here, runId)).toMatchObject({ status: "COMPLETED", output: "mine" });
      },
    );
  },
);

test("a worker's own request under the id of another of its runs is also rejected", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [one = "", two = ""] = await start(gateway, 2);
  const requests = [(await worker.request()).request, (await worker.request()).request];
  const first = requests.find(({ runId }) => runId === one) as ExecutorRequest;
  const second = requests.find(({ runId }) => runId === two) as ExecutorRequest;
  await worker.replied({ ...first, runId: two }, { status: "DONE", value: "crossed" });
  expect((await runDetail(gateway, two)).endedMs).toBeNull();
  await worker.replied(first, { status: "DONE", value: 1 });
  await worker.replied(second, { status: "DONE", value: 2 });
  expect(await ended(gateway, one)).toMatchObject({ output: 1 });
  expect(await ended(gateway, two)).toMatchObject({ output: 2 });
});

test("a lease id is valid at every gateway, for one request only", async () => {
  const [one, two] = [await bench.gateway({ reconnectGraceMs: 20_000 }), await bench.gateway()];
  const worker = await bench.worker(one, { instanceId: "mover" });
  const [runId = ""] = await start(one);
  const { request } = await worker.request();
  const extended = (await worker.extend(request)) ?? "";
  expect(isUlid(extended)).toBe(true);
  const moved = await bench.worker(two, { instanceId: "mover" });
  // What was extended a moment ago may still be on its way under the id before.
  for (const leaseId of [extended, request.leaseId]) {
    expect(await moved.extend({ ...request, leaseId })).toBeDefined();
  }
  await moved.replied(request, { status: "DONE", value: 1 });
  expect((await ended(two, runId)).status).toBe("COMPLETED");
});

test("a session token works once, at one gateway", async () => {
  const keys = { signingKey: SIGNING_KEY };
  const [one, two] = [await bench.gateway(keys), await bench.gateway(keys)];
  const headers = { authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
  const options = { url: one.url, headers };
  const first = await RawWorker.open(options);
  try {
    await first.worker.frame("GATEWAY_HELLO");
    first.worker.send(helloFrame(options, first.connectionId, "first", first.token));
    await first.worker.frame("GATEWAY_CONNECTION_READY");
    for (const gateway of [one, two]) {
      const thief = await RawWorker.open({ ...options, url: gateway.url });
      await thief.worker.frame("GATEWAY_HELLO");
      thief.worker.send(helloFrame({ ...options, app: "evil" }, first.connectionId, "thief", first.token));
      expect(await thief.worker.gone()).toEqual({ code: 1008, reason: "connect_authentication_failed" });
    }
    expect(first.worker.closed).toBeNull();
  } finally {
    first.worker.cut();
  }
});
