import { type ExecutorRequest, HANDLER_END_ID } from "@holdfast/protocol";
import { afterEach, expect, test } from "vitest";
import { did, ended, op, plan, send, start, useGateway, waits } from "./harness.ts";
import type { WorkerOptions } from "./raw-worker.ts";
import { countStatements, type StatementCounter } from "./statement-counter.ts";

let counter: StatementCounter | undefined;
// Runs after what `useGateway` registers: gateways that stop still need the way to their database.
afterEach(() => counter?.close());
const bench = useGateway();
const fanOuts = [1, 10, 100, 1000];

/** Looking for work and leases, signs of life and cleaning have nothing to do with one decision; each is done when it is due. */
const aside =
  /^WITH (due|known|page) |^SELECT f\.place, w\.count,|^SELECT min\(|pg_notify|^WITH held |holdfast\.(connections|functions|app_groups|gateways)|^DELETE FROM holdfast\.(event_keys|writers|gates|used_tokens)/;

/** The statements of `act`, shortened, with how often each was carried out. */
async function statementsOf(act: () => Promise<unknown>): Promise<string[]> {
  counter?.reset();
  await act();
  return [...(counter?.counts() ?? [])]
    .filter(([text]) => !aside.test(text))
    .map(([text, count]) => `${count} x ${text.replace(/\s+/g, " ").slice(0, 40)}`);
}

async function gatewayThatCounts(options: Partial<WorkerOptions>) {
  counter = await countStatements(bench.db.url);
  const gateway = await bench.gateway({ databaseUrl: counter.url });
  const worker = await bench.worker(gateway, { ...options, maxWorkerConcurrency: 2000 });
  return { gateway, worker };
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `s${index}`);
const total = (statements: readonly string[]): number =>
  statements.reduce((sum, line) => sum + Number(line.split(" ")[0]), 0);
const shown = (counted: readonly string[][]): string => counted.map((lines) => lines.join("\n")).join("\n\n");

test("on the plain protocol a decision takes as many statements for a thousand planned steps as for one", async () => {
  const { gateway, worker } = await gatewayThatCounts({ extensions: [] });
  const planned: string[][] = [];
  for (const fanOut of fanOuts) {
    const [runId = ""] = await start(gateway);
    const first = await worker.request("step");
    const reply = () => worker.replied(first.request, { value: ids(fanOut).map((id) => plan(id)) });
    planned.push(await statementsOf(reply));
    const steps = [];
    for (let index = 0; index < fanOut; index++) steps.push(await worker.request());
    const [last, ...others] = steps.reverse();
    for (const { request } of others) worker.reply(request, { value: [did(request.stepId)] });
    for (const { request } of others)
      await worker.frame("WORKER_REPLY_ACK", (one) => one.requestId === request.requestId);
    if (last) await worker.replied(last.request, { value: [did(last.request.stepId)] });
    const join = await worker.request("step");
    expect(Object.keys(join.payload.steps)).toHaveLength(fanOut);
    await worker.replied(join.request, { status: "DONE", value: fanOut });
    expect((await ended(gateway, runId)).output).toBe(fanOut);
  }
  console.log(`A reply that plans n steps: ${total(planned[0] ?? [])} statements.\n${planned[0]?.join("\n")}`);
  expect(planned.map(total), shown(planned)).toEqual(fanOuts.map(() => total(planned[0] ?? [])));
  expect(total(planned[0] ?? [])).toBeLessThanOrEqual(10);
});

test("in place a checkpoint takes as many statements for a thousand finished steps as for one", async () => {
  const { gateway, worker } = await gatewayThatCounts({});
  const stored: string[][] = [];
  for (const fanOut of fanOuts) {
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    stored.push(
      await statementsOf(async () => {
        worker.checkpoint(
          request,
          1,
          ids(fanOut).map((id) => did(id)),
        );
        expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
      }),
    );
    await worker.replied(request, { status: "DONE", value: fanOut });
    expect((await ended(gateway, runId)).steps).toHaveLength(fanOut);
  }
  console.log(`A checkpoint of n steps: ${total(stored[0] ?? [])} statements.\n${stored[0]?.join("\n")}`);
  expect(stored.map(total), shown(stored)).toEqual(fanOuts.map(() => total(stored[0] ?? [])));
  expect(total(stored[0] ?? [])).toBeLessThanOrEqual(6);
});

test("in place the last result of a run costs no statement when it comes with the value", async () => {
  const { gateway, worker } = await gatewayThatCounts({});
  const end = async (act: (request: ExecutorRequest) => Promise<unknown>): Promise<string[]> => {
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    const statements = await statementsOf(() => act(request));
    expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: "value" });
    return statements;
  };
  const value = () => ({ id: HANDLER_END_ID, op: "RunComplete", data: "value" });
  const alone = await end((request) => worker.replied(request, { status: "DONE", value: "value" }));
  const together = await end((request) => worker.replied(request, { value: [did("a"), value()] }));
  const apart = await end(async (request) => {
    worker.checkpoint(request, 1, [did("a")]);
    await worker.frame("GATEWAY_CHECKPOINT_ACK");
    await worker.replied(request, { status: "DONE", value: "value" });
  });
  console.log(`${total(together)} statements; as checkpoint and reply ${total(apart)}.`);
  expect(together, shown([alone, together])).toEqual(alone);
  // Each commit leaves a mark.
  const commits = (lines: readonly string[]): number => total(lines.filter((line) => line.includes("x WITH mark AS")));
  expect([commits(together), commits(apart)]).toEqual([1, 2]);
});

test("an event takes as many statements with a hundred waiting runs as with one", async () => {
  const { gateway, worker } = await gatewayThatCounts({});
  const wait = op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1h", match: "data.n" } });
  const costs: string[][] = [];
  for (const more of [1, 99]) {
    const [runId = ""] = (await start(gateway, more)).slice(-1);
    for (let index = 0; index < more; index++) {
      const { request } = await worker.request();
      await worker.replied(request, { value: [wait] });
    }
    await waits(gateway, runId, "shop/paid");
    const answer = async () => {
      await send(gateway, "shop/paid", { n: more - 1 });
      const { request } = await worker.request("step");
      expect(request.runId).toBe(runId);
      await worker.replied(request, { status: "DONE", value: 1 });
    };
    costs.push(await statementsOf(answer));
  }
  const [alone = 0, amongMany = 0] = costs.map(total);
  console.log(`An event that one run waits for: ${alone} statements.\n${costs[0]?.join("\n")}`);
  // What happens at the same moment shares a transaction or does not; a look at each run would be a hundred more.
  expect(Math.abs(amongMany - alone)).toBeLessThan(20);
});
