import { DueBounds } from "../../src/store-postgres/queue/due-bounds.ts";
import { claimLimited } from "../../src/store-postgres/queue/limited-claims.ts";

import { AT_ONCE, testLongQueues } from "./long-queues.ts";
import type { Statements } from "./pages-read.ts";

const LATER = "now() + interval '1 hour' + i * interval '1 millisecond'";

const claimedWithin = async (on: Statements, slots: readonly number[]): Promise<number> => {
  const limits = { slots, throttle: null, shared: false };
  const wants = [{ functionId: "fn", limit: AT_ONCE, leaseMs: 60_000, limits }];
  return (await claimLimited(on, new DueBounds(() => 0), "claim", "0800", { gatewayId: "gateway", wants })).jobs.length;
};

testLongQueues({
  "jobs of one lane": {
    columns: { lane: "'0000'", slot_a: "'one'" },
    acts: { claim: (on) => claimedWithin(on, [AT_ONCE]) },
  },
  "jobs of a thousand lanes that share a limit": {
    columns: { lane: "lpad(to_hex(i % 1000), 4, '0')", slot_a: "'all'", slot_b: "'key ' || i % 1000" },
    acts: { claim: (on) => claimedWithin(on, [AT_ONCE, 1]) },
  },
  "jobs of a lane that are not due": {
    columns: { lane: "'0000'", slot_a: "'one'", available_at: LATER },
    acts: { claim: (on) => claimedWithin(on, [AT_ONCE]) },
  },
});
