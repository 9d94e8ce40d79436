import type { ClaimedJob, ClaimRequest } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import { UnroutableWork } from "../../src/dispatch/queue/unroutable.ts";

const functionId = "shop-order";
const job = { id: "1", epoch: 1, runId: "run", kind: "pass", functionId } as ClaimedJob;

function bench(may: boolean) {
  const clock = fakeClock();
  const claims: ClaimRequest[] = [];
  const failed: string[] = [];
  const store = {
    claim: async (request: ClaimRequest) => {
      claims.push(request);
      return [job];
    },
  };
  const options = { store, clock, settings: { gatewayId: "g" } } as unknown as DispatcherOptions;
  const work = new UnroutableWork(options, {
    workers: { unroutable: () => new Set([functionId]) },
    functions: { get: () => undefined, version: 1 },
    admission: { mayStart: () => (may ? { may, version: null, anyVersionInMs: 0 } : { may, why: "GATEWAY_DRAINING" }) },
    failed: { failAttempt: (_, code) => failed.push(code) },
  });
  return { work, clock, claims, failed };
}

test.each([
  { may: true, claims: 1, failed: ["connect_no_healthy_connection"] },
  { may: false, claims: 0, failed: [] },
])("unroutable work that may start ($may) fails after ten seconds; what may not start is left alone", async (row) => {
  const { work, clock, claims, failed } = bench(row.may);
  await work.failUnroutable();
  expect(claims).toEqual([]);
  await clock.advance(10_000);
  await work.failUnroutable();
  expect(claims).toHaveLength(row.claims);
  expect(failed).toEqual(row.failed);
});
