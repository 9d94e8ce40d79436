import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

interface Bulk {
  readonly id: string;
  readonly status: string;
}

const post = async (gateway: Gateway, body: object, path = "/v1/bulk") =>
  (await call(gateway, path, { method: "POST", body: JSON.stringify(body) })) as Bulk;
const over = (gateway: Gateway, id: string): Promise<Bulk> =>
  waitFor(
    async () => {
      const bulk = (await call(gateway, `/v1/bulk/${id}`)) as Bulk;
      return bulk.status === "RUNNING" ? undefined : bulk;
    },
    { what: `bulk job ${id} to end` },
  );

/** Runs of which all have failed; what is done again succeeds. */
async function failedRuns(gateway: Gateway, count: number): Promise<string[]> {
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", noRetry: true, value: { name: "Error", message: "no" } }));
  const runIds = await start(gateway, count);
  for (const runId of runIds) await ended(gateway, runId);
  worker.answer(() => ({ status: "DONE", value: "repaired" }));
  return runIds;
}

test("runs that were run again already are left out of a rerun, and counted, unless they are asked for", async () => {
  const gateway = await bench.gateway();
  const [first = "", second = "", third = ""] = await failedRuns(gateway, 3);
  const again = async (runId: string) =>
    ((await post(gateway, {}, `/v1/runs/${runId}/rerun`)) as { runId?: string }).runId;
  const made = (await again(first)) ?? "";
  expect(await ended(gateway, made)).toMatchObject({ status: "COMPLETED" });
  const gone = (await again(second)) ?? "";
  await ended(gateway, gone);
  const rerun = { action: "rerun", filter: { functionId: "shop-order" } };
  expect(await post(gateway, { ...rerun, dryRun: true })).toMatchObject({ count: 1, leftOut: 2, runIds: [third] });
  // What was made of it is no more.
  await call(gateway, `/v1/runs/${gone}`, { method: "DELETE" });
  expect(await post(gateway, { ...rerun, dryRun: true })).toMatchObject({ count: 2, leftOut: 1 });
  const both = { ...rerun, filter: { ...rerun.filter, again: true } };
  expect(await post(gateway, { ...both, dryRun: true })).toMatchObject({ count: 3, leftOut: 0 });
  const bulk = await post(gateway, rerun);
  expect(bulk).toMatchObject({ total: 2, filter: { again: false } });
  expect(await over(gateway, bulk.id)).toMatchObject({ status: "DONE", done: 2, skipped: 0 });
  expect(await call(gateway, `/v1/runs/${first}`)).toMatchObject({ descendants: [{ runId: made, kind: "rerun" }] });
  expect(await over(gateway, (await post(gateway, rerun)).id)).toMatchObject({ total: 0, done: 0 });
  expect(await over(gateway, (await post(gateway, both)).id)).toMatchObject({ total: 3, done: 3 });
  for (const body of [
    { action: "rerun", filter: { again: true } },
    { action: "rerun", filter: { all: true, again: "yes" } },
    { action: "delete", filter: { all: true, again: true } },
  ]) {
    expect(await post(gateway, body)).toMatchObject({ code: "BODY_INVALID" });
  }
});

test("runs that were run again already are not resumed either, unless they are asked for", async () => {
  const gateway = await bench.gateway();
  const [first = "", second = ""] = await failedRuns(gateway, 2);
  await post(gateway, {}, `/v1/runs/${first}/rerun`);
  const resume = { action: "resume", filter: { functionId: "shop-order" } };
  expect(await post(gateway, { ...resume, dryRun: true })).toMatchObject({ count: 1, leftOut: 1, runIds: [second] });
  expect(await over(gateway, (await post(gateway, resume)).id)).toMatchObject({ status: "DONE", done: 1 });
  expect(await ended(gateway, second)).toMatchObject({ status: "COMPLETED" });
  expect(await call(gateway, `/v1/runs/${first}`)).toMatchObject({ status: "FAILED" });
  const both = { ...resume, filter: { ...resume.filter, again: true } };
  expect(await over(gateway, (await post(gateway, both)).id)).toMatchObject({ status: "DONE", done: 1 });
  expect(await ended(gateway, first)).toMatchObject({ status: "COMPLETED" });
});
