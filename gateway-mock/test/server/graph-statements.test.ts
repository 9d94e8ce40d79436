import { afterEach, expect, test } from "vitest";
import { call, did, ended, plan, useGateway } from "./harness.ts";
import { countStatements, type StatementCounter } from "./statement-counter.ts";

let counter: StatementCounter | undefined;
// Runs after what `useGateway` registers: gateways that stop still need the way to their database.
afterEach(() => counter?.close());
const bench = useGateway();
const fanOuts = [1, 10, 100, 1000];

/** Looking for work and leases, signs of life and cleaning have nothing to do with one decision; each is done when it is due. */
const aside =
  /^WITH (due|known|page) |^SELECT f\.place, w\.count,|^SELECT min\(|pg_notify|^WITH held |holdfast\.(connections|functions|app_groups|gateways|graph_triggers)|^DELETE FROM holdfast\.(event_keys|writers|gates|used_tokens)/;

async function statementsOf(act: () => Promise<unknown>): Promise<string[]> {
  counter?.reset();
  await act();
  return [...(counter?.counts() ?? [])]
    .filter(([text]) => !aside.test(text))
    .map(([text, count]) => `${count} x ${text.replace(/\s+/g, " ").slice(0, 40)}`);
}

const total = (statements: readonly string[]): number =>
  statements.reduce((sum, line) => sum + Number(line.split(" ")[0]), 0);
const shown = (counted: readonly string[][]): string => counted.map((lines) => lines.join("\n")).join("\n\n");
const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

/** `count` nodes side by side, and one that joins them. */
const fanOf = (count: number) => ({
  id: `fan-${count}`,
  title: "Fan",
  nodes: [
    { id: "start", type: "start" },
    ...ids(count).map((id) => ({ id, type: "work" })),
    { id: "end", type: "end" },
  ],
  edges: ids(count).flatMap((id) => [
    { from: "start", to: id },
    { from: id, to: "end" },
  ]),
});

async function gatewayWithFans() {
  counter = await countStatements(bench.db.url);
  const gateway = await bench.gateway({ databaseUrl: counter.url });
  const worker = await bench.worker(gateway, { functions: [{ id: "graphs", event: "" }], maxWorkerConcurrency: 2000 });
  const ask = (method: string, path: string, body: object) =>
    call(gateway, path, { method, body: JSON.stringify(body) });
  /** Starts a run of the fan, once it is published. */
  const startFan = async (count: number, dispatch: string): Promise<string> => {
    // The draft's 1,000 nodes are those beside start and end.
    const graph = fanOf(Math.min(count, 998));
    expect(await ask("PUT", `/v1/graphs/${graph.id}`, { graph })).toMatchObject({ problems: [] });
    await ask("POST", `/v1/graphs/${graph.id}/publish`, {});
    const { runId } = (await ask("POST", `/v1/graphs/${graph.id}/runs`, { dispatch })) as { runId: string };
    return runId;
  };
  return { gateway, worker, startFan };
}

test("nodes that are jobs are decided with as many statements for a thousand of them as for one, and so is their join", async () => {
  const { gateway, worker, startFan } = await gatewayWithFans();
  const [planned, joined]: [string[][], string[][]] = [[], []];
  for (const fanOut of fanOuts) {
    const runId = await startFan(fanOut, "node");
    const first = await worker.request("step");
    const count = Math.min(fanOut, 998);
    const planNodes = () => worker.replied(first.request, { value: ids(count).map((id) => plan(id)) });
    planned.push(await statementsOf(planNodes));
    const nodes = [];
    for (let index = 0; index < count; index += 1) nodes.push(await worker.request());
    const [last, ...others] = nodes.reverse();
    for (const { request } of others) worker.reply(request, { value: [did(request.stepId)] });
    for (const { request } of others)
      await worker.frame("WORKER_REPLY_ACK", (one) => one.requestId === request.requestId);
    if (last) {
      const endLast = () => worker.replied(last.request, { value: [did(last.request.stepId)] });
      joined.push(await statementsOf(endLast));
    }
    const join = await worker.request("step");
    expect(Object.keys(join.payload.steps)).toHaveLength(count);
    await worker.replied(join.request, { status: "DONE", value: {} });
    expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  }
  expect(planned.map(total), shown(planned)).toEqual(fanOuts.map(() => total(planned[0] ?? [])));
  expect(joined.map(total), shown(joined)).toEqual(fanOuts.map(() => total(joined[0] ?? [])));
  expect(total(planned[0] ?? [])).toBeLessThanOrEqual(10);
});

test("nodes in place that have ended are stored with as many statements for a thousand of them as for one", async () => {
  const { gateway, worker, startFan } = await gatewayWithFans();
  const stored: string[][] = [];
  for (const fanOut of fanOuts) {
    const runId = await startFan(fanOut, "run");
    const { request } = await worker.request();
    const store = async (): Promise<void> => {
      worker.checkpoint(
        request,
        1,
        ids(Math.min(fanOut, 998)).map((id) => did(id)),
      );
      expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
    };
    stored.push(await statementsOf(store));
    await worker.replied(request, { status: "DONE", value: {} });
    expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  }
  expect(stored.map(total), shown(stored)).toEqual(fanOuts.map(() => total(stored[0] ?? [])));
  expect(total(stored[0] ?? [])).toBeLessThanOrEqual(6);
});
