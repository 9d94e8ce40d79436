import { silentLog } from "@holdfast/core";
import type { ConnectionReady, WorkerFrame } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
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
  const [sent, posted, lost]: [WorkerFrame[], ThreadMessage[], string[]] = [[], [], []];
  const keeper = new LeaseKeeper({
    inFlight,
    clock,
    timers: clock,
    log: silentLog,
    port: { post: (message) => posted.push(message) },
    coalescing: { post: (message) => posted.push(message) },
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
  return { clock, keeper, sent, posted, lost };
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
