/** A database that takes longer than half a lease to lease work: work goes out as far as it may, and users are told. */
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, metrics, runDetail, start, useGateway } from "./harness.ts";

const bench = useGateway();
const LEASE_MS = 6_000;
const TOO_LONG_MS = LEASE_MS / 2 + 100;

/** Calls of this kind take too long until that is cleared. */
const slow = (gateway: Gateway, operation: string): Promise<unknown> =>
  call(gateway, "/v1/faults", {
    method: "POST",
    body: JSON.stringify({ what: "slow-database", delayMs: TOO_LONG_MS, where: { operation } }),
  });

const ready = async (gateway: Gateway) =>
  (await call(gateway, "/ready")) as { readonly ready: boolean; readonly slowLease?: { readonly tookMs: number } };

test("runs end though each claim takes longer than half a lease, and the gateway says that the database is slow", async () => {
  const logged: unknown[] = [];
  const log = (_level: string, _message: string, data?: { readonly code?: unknown }) => void logged.push(data?.code);
  const gateway = await bench.gateway({ faults: true, leaseMs: LEASE_MS, log });
  const first = await bench.worker(gateway);
  await first.close();
  await slow(gateway, "claim");
  // No worker is there that could have it at once: it is claimed.
  const [runId = ""] = await start(gateway);
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", value: 1 }));
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 0 });
  expect(logged).toContain("DATABASE_SLOW");
  const { slowLease, ...rest } = await ready(gateway);
  expect(rest).toEqual({ ready: true });
  expect(slowLease?.tookMs).toBeGreaterThan(LEASE_MS / 2);
});

test("nothing leaves while extensions take as long, which the run and the metrics say; then it does", async () => {
  const gateway = await bench.gateway({ faults: true, leaseMs: LEASE_MS });
  const first = await bench.worker(gateway);
  await first.close();
  await slow(gateway, "claim");
  await slow(gateway, "extendLeases");
  const [runId = ""] = await start(gateway);
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", value: 1 }));
  const reasons = new Set<string | undefined>();
  const hasGoneBack = async (): Promise<boolean> => {
    reasons.add((await runDetail(gateway, runId)).waiting?.reason);
    return ((await metrics(gateway)).dispatcher.leasesLate ?? 0) > 0;
  };
  await waitFor(hasGoneBack, { what: "work to go back" });
  expect(reasons).not.toContain("SENT");
  const { waiting } = await runDetail(gateway, runId);
  expect(waiting).toMatchObject({
    reason: "STARTING",
    message: expect.stringContaining("; the database took"),
  });
  expect(worker.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
  await call(gateway, "/v1/faults", { method: "DELETE" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 0 });
});
