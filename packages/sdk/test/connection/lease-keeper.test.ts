import { silentLog, ulidFromSeed } from "@holdfast/core";
import type { ConnectionReady, WorkerFrame } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { LeaseAges } from "../../src/connection/machines/lease-ages.ts";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import type { RequestIdentity } from "../../src/connection/shared/reply.ts";
import { InFlightRequests } from "../../src/connection/thread/in-flight-requests.ts";
import { LeaseKeeper } from "../../src/connection/thread/lease-keeper.ts";

const READY = {
  heartbeatInterval: "10s",
  extendLeaseInterval: "30s",
  statusInterval: "0s",
  extensions: [],
} as unknown as ConnectionReady;

/** The leases of one request, on a connection whose gateway the test plays. */
function bench(isPlain: boolean) {
  const clock = fakeClock();
  const inFlight = new InFlightRequests(clock, 1);
  const [sent, lost]: [WorkerFrame[], string[]] = [[], []];
  const [posted, held]: [ThreadMessage[], ThreadMessage[]] = [[], []];
  const keeper = new LeaseKeeper({
    inFlight,
    ages: new LeaseAges(),
    clock,
    timers: clock,
    log: silentLog,
    port: { post: (message) => posted.push(message) },
    coalescing: { post: (message) => held.push(message) },
    send: (frame) => sent.push(frame),
    onConfirmed: () => {},
    onLost: (requestId) => {
      lost.push(requestId);
      inFlight.remove(requestId);
    },
    isShuttingDown: () => false,
    isPlain: () => isPlain,
  });
  keeper.start(READY);
  inFlight.add({ requestId: "r", runId: "run" } as RequestIdentity, "lease", true);
  return { clock, inFlight, keeper, sent, posted, held, lost };
}

describe("a lease of the base protocol whose end has passed", () => {
  it("starts nothing: such a gateway may extend it although the attempt is over", async () => {
    const { clock, keeper, sent, lost } = bench(true);
    await clock.advance(121_000);
    sent.length = 0;
    keeper.doubt(2);
    expect(lost).toEqual(["r"]);
    expect(sent).toEqual([]);
  });

  it("is asked for while it lasts, and when only a clock was set", async () => {
    const { clock, keeper, sent, lost } = bench(true);
    await clock.advance(100_000);
    clock.setWallClock(clock.nowMs() + 3_600_000);
    sent.length = 0;
    keeper.doubt(2);
    expect(lost).toEqual([]);
    expect(sent).toMatchObject([{ kind: "WORKER_REQUEST_EXTEND_LEASE", requestId: "r" }]);
  });

  it("is the gateway's to judge where it speaks our extensions: the work may still be ours", async () => {
    const { clock, keeper, sent, posted, lost } = bench(false);
    await clock.advance(3_600_000);
    sent.length = 0;
    keeper.doubt(2);
    expect(lost).toEqual([]);
    expect(sent).toMatchObject([{ kind: "WORKER_REQUEST_EXTEND_LEASE", requestId: "r" }]);
    // All that was asked for before is answered first.
    for (let answers = 0; answers < 1_000 && posted.length === 0; answers += 1)
      keeper.onAnswer("r", `lease ${answers}`);
    expect(posted.at(-1)).toMatchObject({ type: "LEASE_EXTENDED" });
  });
});

describe.each([
  ["plain", true],
  ["with extensions", false],
] as const)("what main waits with, %s", (_name, isPlain) => {
  const leaseOf = (endsMs: number): string => ulidFromSeed(endsMs, new Uint8Array(10), 0);

  it("is asked for at once and again and again, until main goes on", async () => {
    const { clock, keeper, sent } = bench(isPlain);
    expect(sent).toEqual([]);
    keeper.want("r");
    expect(sent).toHaveLength(1);
    await clock.advance(10_000);
    expect(sent).toHaveLength(11);
    keeper.wantNoMore("r");
    await clock.advance(10_000);
    expect(sent).toHaveLength(11);
  });

  it("is told to main as of when it was asked for, or as of when it was granted, where that can be told", async () => {
    const { clock, keeper, posted } = bench(isPlain);
    const gatewayMs = 1_800_000_000_000 - clock.monotonicMs();
    const grantedAt = (monotonicMs: number): string => leaseOf(gatewayMs + monotonicMs + 20_000);
    const asOf = (): number => {
      const message = posted.at(-1);
      return message?.type === "LEASE_EXTENDED" ? (message.asOf?.monotonicMs ?? Number.NaN) : Number.NaN;
    };
    const startMs = clock.monotonicMs();
    keeper.want("r");
    await clock.advance(700);
    // Nothing has come in time yet, so it may have been under way all the while.
    keeper.onAnswer("r", grantedAt(startMs + 700));
    expect(asOf()).toBe(startMs);
    await clock.advance(2_600);
    // Three were asked for since. A gateway that takes its time to answer is no network that holds answers back.
    keeper.onAnswer("r", grantedAt(startMs + 3_300));
    expect(asOf()).toBe(startMs + 3_300);
    keeper.onAnswer("r", grantedAt(startMs + 900));
    expect(asOf()).toBe(startMs + 2_000);
  });

  it("reaches main at once, but is no queue that grows for as long as main is blocked", async () => {
    const { clock, keeper, posted, held } = bench(isPlain);
    keeper.want("r");
    for (let answers = 0; answers < 200; answers += 1) {
      keeper.onAnswer("r", leaseOf(1_800_000_000_000 + 1_000 * answers));
      await clock.advance(1_000);
    }
    expect(posted).toHaveLength(60);
    expect(held).toHaveLength(140);
  });

  it("is forgotten with its request", async () => {
    const { clock, inFlight, keeper, sent } = bench(isPlain);
    keeper.want("r");
    inFlight.remove("r");
    await clock.advance(5_000);
    expect(sent).toHaveLength(1);
  });
});
