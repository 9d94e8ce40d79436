import { ulidFromSeed } from "@holdfast/core";
import type { ConnectionReady, WorkerFrame } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { LeaseAges } from "../../src/connection/machines/lease-ages.ts";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import type { RequestIdentity } from "../../src/connection/shared/reply.ts";
import { type InFlightRequest, InFlightRequests } from "../../src/connection/thread/in-flight-requests.ts";
import { LeaseKeeper } from "../../src/connection/thread/lease-keeper.ts";

const READY = {
  heartbeatInterval: "10s",
  extendLeaseInterval: "30s",
  statusInterval: "0s",
  extensions: [],
} as unknown as ConnectionReady;

/** The leases of one request, on a connection whose gateway the test plays. */
function bench(isPlain: boolean, saysSteps = false) {
  const clock = fakeClock();
  const inFlight = new InFlightRequests(clock, 1, { maxWorkerConcurrency: 10, partitions: [] });
  const [sent, lost]: [WorkerFrame[], string[]] = [[], []];
  const [posted, held]: [ThreadMessage[], ThreadMessage[]] = [[], []];
  const logged: unknown[] = [];
  const keeper = new LeaseKeeper({
    inFlight,
    ages: new LeaseAges(),
    clock,
    timers: clock,
    log: (...line) => void logged.push(line),
    port: { post: (message) => posted.push(message) },
    coalescing: { post: (message) => held.push(message) },
    send: (frame) => sent.push(frame),
    onConfirmed: () => {},
    onLost: (requestId) => {
      lost.push(requestId);
      inFlight.remove(requestId);
    },
    isShuttingDown: () => false,
    saysSteps: () => saysSteps,
    isPlain: () => isPlain,
  });
  keeper.start(READY);
  inFlight.add({ requestId: "r", runId: "run" } as RequestIdentity, "lease", true);
  return { clock, inFlight, keeper, sent, posted, held, lost, logged };
}

it.each([
  [undefined, "warn", "Lost the lease of a request; its result will not be used.", "LEASE_LOST"],
  [
    "The run is cancelled.",
    "info",
    "A request was cancelled; its result will not be used. The run is cancelled.",
    "RUN_CANCELLED",
  ],
])("a lease that is not extended is no fault where the gateway has said why: %s", (why, level, message, code) => {
  const { inFlight, keeper, lost, logged } = bench(false);
  const request = inFlight.get("r") as InFlightRequest;
  if (why !== undefined) request.cancelled = why;
  keeper.askForExtension("r");
  keeper.onExtensionAnswer("r", undefined);
  expect(lost).toEqual(["r"]);
  expect(logged).toEqual([[level, message, { code, requestId: "r", runId: "run" }]]);
});

describe("Steps that have been running for a while", () => {
  it.each([
    [true, { runningSteps: [{ id: "charge", runningMs: 3_000 }] }],
    [false, {}],
  ])("are said with the lease, where that is agreed on: %s", async (isAgreed, more) => {
    const { clock, inFlight, keeper, sent } = bench(false, isAgreed);
    const request = inFlight.get("r") as InFlightRequest;
    const fromMs = clock.monotonicMs();
    await clock.advance(3_000);
    keeper.sayLongSteps(request, [{ id: "charge", fromMs }]);
    expect(sent.length).toBe(isAgreed ? 1 : 0);
    sent.length = 0;
    keeper.askForExtension("r");
    expect(sent).toEqual([
      { kind: "WORKER_REQUEST_EXTEND_LEASE", requestId: "r", runId: "run", leaseId: "lease", ...more },
    ]);
  });
});

describe("A plain lease past its end", () => {
  it("an expired plain lease starts nothing, since a plain gateway may extend it after the attempt is over", async () => {
    const { clock, keeper, sent, lost } = bench(true);
    await clock.advance(121_000);
    sent.length = 0;
    keeper.beginDoubt(2);
    expect(lost).toEqual(["r"]);
    expect(sent).toEqual([]);
  });

  it("a plain lease is extended before its end, and when only a clock was set", async () => {
    const { clock, keeper, sent, lost } = bench(true);
    await clock.advance(100_000);
    clock.setWallClock(clock.nowMs() + 3_600_000);
    sent.length = 0;
    keeper.beginDoubt(2);
    expect(lost).toEqual([]);
    expect(sent).toMatchObject([{ kind: "WORKER_REQUEST_EXTEND_LEASE", requestId: "r" }]);
  });

  it("with protocol extensions an expired lease is left to the gateway to decide", async () => {
    const { clock, keeper, sent, posted, lost } = bench(false);
    await clock.advance(3_600_000);
    sent.length = 0;
    keeper.beginDoubt(2);
    expect(lost).toEqual([]);
    expect(sent).toMatchObject([{ kind: "WORKER_REQUEST_EXTEND_LEASE", requestId: "r" }]);
    // All that was asked for before is answered first.
    for (let answers = 0; answers < 1_000 && posted.length === 0; answers += 1)
      keeper.onExtensionAnswer("r", `lease ${answers}`);
    expect(posted.at(-1)).toMatchObject({ type: "LEASE_EXTENDED" });
  });
});

describe.each([
  ["plain", true],
  ["with extensions", false],
] as const)("Lease confirmations for the main thread, %s", (_name, isPlain) => {
  const leaseOf = (endsMs: number): string => ulidFromSeed(endsMs, new Uint8Array(10), 0);

  it("a wanted confirmation is requested at once and repeatedly, until the main thread continues", async () => {
    const { clock, keeper, sent } = bench(isPlain);
    expect(sent).toEqual([]);
    keeper.keepConfirming("r");
    expect(sent).toHaveLength(1);
    await clock.advance(10_000);
    expect(sent).toHaveLength(11);
    keeper.stopConfirming("r");
    await clock.advance(10_000);
    expect(sent).toHaveLength(11);
  });

  it("a confirmation reaches main dated by its request or, where known, by its grant", async () => {
    const { clock, keeper, posted } = bench(isPlain);
    const gatewayMs = 1_800_000_000_000 - clock.monotonicMs();
    const grantedAt = (monotonicMs: number): string => leaseOf(gatewayMs + monotonicMs + 20_000);
    const asOf = (): number => {
      const message = posted.at(-1);
      return message?.type === "LEASE_EXTENDED" ? (message.asOf?.monotonicMs ?? Number.NaN) : Number.NaN;
    };
    const startMs = clock.monotonicMs();
    keeper.keepConfirming("r");
    await clock.advance(700);
    // Nothing has come in time yet, so it may have been under way all the while.
    keeper.onExtensionAnswer("r", grantedAt(startMs + 700));
    expect(asOf()).toBe(startMs);
    await clock.advance(2_600);
    // Three were asked for since. A gateway that takes its time to answer is no network that holds answers back.
    keeper.onExtensionAnswer("r", grantedAt(startMs + 3_300));
    expect(asOf()).toBe(startMs + 3_300);
    keeper.onExtensionAnswer("r", grantedAt(startMs + 900));
    expect(asOf()).toBe(startMs + 2_000);
  });

  it("confirmations reach main at once, but do not queue up while it is blocked", async () => {
    const { clock, keeper, posted, held } = bench(isPlain);
    keeper.keepConfirming("r");
    for (let answers = 0; answers < 200; answers += 1) {
      keeper.onExtensionAnswer("r", leaseOf(1_800_000_000_000 + 1_000 * answers));
      await clock.advance(1_000);
    }
    expect(posted).toHaveLength(60);
    expect(held).toHaveLength(140);
  });

  it("a wanted confirmation is forgotten with its request", async () => {
    const { clock, inFlight, keeper, sent } = bench(isPlain);
    keeper.keepConfirming("r");
    inFlight.remove("r");
    await clock.advance(5_000);
    expect(sent).toHaveLength(1);
  });
});
