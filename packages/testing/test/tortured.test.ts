import { Holdfast } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startTestGateway, type TestGateway, type TortureProblem, tortured } from "../src/index.ts";

/** The real SDK on a real gateway: a function that keeps the rules is reported nothing of, each that breaks one is found. */

let gateway: TestGateway;
let app: Holdfast;
/** What was done, by run. */
let ledger: Map<string, string[]>;
const seed = 11;
/** A run that lost its worker on a slow machine waits for its lease to end: it takes as long as it takes. */
const roundMs = 100_000;

beforeEach(async () => {
  gateway = await startTestGateway({ store: "memory", leaseMs: 8_000, heartbeatMs: 2_000, retryBaseMs: 20 });
  app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger: quiet });
  ledger = new Map();
});
afterEach(() => gateway.close());

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const note = (runId: string, what: string): void => void ledger.set(runId, [...(ledger.get(runId) ?? []), what]);
const effects = ({ runId }: { runId: string }): string[] => ledger.get(runId) ?? [];
const kinds = (problems: readonly TortureProblem[]): string[] => [...new Set(problems.map(({ kind }) => kind))].sort();

test("a function that keeps the rules is reported nothing of, with sleeps, parallel steps and retries", async () => {
  const done = new Set<string>();
  const order = app.createFunction(
    { id: "order", triggers: { event: "shop/placed" } },
    async ({ event, step, runId }) => {
      const charge = await step.run("charge", () => {
        // Idempotent: once for each run, however often the body runs.
        if (!done.has(`${runId} charge`)) note(runId, `charged ${event.data.card}`);
        done.add(`${runId} charge`);
        return { card: event.data.card };
      });
      await step.sleep("rest", "2h");
      const parts = await Promise.all(["a", "b"].map((part) => step.run(`pack-${part}`, () => part)));
      await step.run("unlucky", () => {
        if (done.has(`${runId} unlucky`)) return;
        done.add(`${runId} unlucky`);
        throw new Error("once");
      });
      return { charge, parts };
    },
  );
  const report = await tortured(order, { data: { card: "4242" }, effects, seed, roundMs, chaosRounds: 4 });
  expect(report.problems).toEqual([]);
  expect(report.notes).toEqual([]);
  expect(report.seed).toBe(seed);
  expect(report.steps.map(({ step }) => step).sort()).toEqual(["charge", "pack-a", "pack-b", "unlucky"]);
  // It was killed indeed: bodies ran more than once. Of the unlucky one the attempt that failed is the one that is lost.
  const repeated = report.steps.filter(({ roundsRepeated }) => roundsRepeated > 0).map(({ step }) => step);
  expect(repeated).toEqual(expect.arrayContaining(["charge", "pack-a", "pack-b"]));
});

test("an effect outside of a step is found, at the kill after a commit, and its round can be seen again", async () => {
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ step, runId }) => {
    note(runId, "mail");
    await step.run("charge", () => 1);
    return step.run("pack", () => 2);
  });
  const report = await tortured(order, { effects, seed, roundMs, chaosRounds: 0 });
  expect(kinds(report.problems)).toEqual(["EFFECTS_DIFFER"]);
  const [problem] = report.problems;
  expect(problem?.text).toContain("Code outside of steps runs again");
  const again = await tortured(order, { effects, seed, roundMs, chaosRounds: 0, round: problem?.round ?? 0 });
  expect(again.rounds).toBe(3);
  expect(again.problems).toHaveLength(1);
  expect(again.problems[0]).toMatchObject({ kind: "EFFECTS_DIFFER", round: problem?.round, seed: problem?.seed });
});

test("an effect that is not idempotent is found, at the kill before its commit", async () => {
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ step, runId }) =>
    step.run("charge", () => {
      note(runId, "charged");
      return 1;
    }),
  );
  const report = await tortured(order, { effects, seed, roundMs, chaosRounds: 0 });
  expect(kinds(report.problems)).toEqual(["EFFECTS_DIFFER"]);
  expect(report.problems.some(({ step }) => step === "charge")).toBe(true);
  expect(report.steps).toMatchObject([{ step: "charge", resultsDiffer: false }]);
  // On a machine that is very busy a lease may be lost as well.
  expect(report.steps[0]?.bodies).toBeGreaterThan(1);
});

test("a step id that changes with every replay is found, without looking at effects", async () => {
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ step }) => {
    await step.run(`charge-${Math.random()}`, () => 1);
    return step.run("pack", () => 2);
  });
  const report = await tortured(order, { seed, roundMs, chaosRounds: 2 });
  expect(kinds(report.problems)).toContain("NON_DETERMINISM");
  expect(report.notes.join(" ")).toContain("No effects were read");
});

test("a branch on something that is not stored is found", async () => {
  let replays = 0;
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ step, runId }) => {
    await step.run("first", () => 1);
    const isOdd = (ledger.get(runId)?.length ?? 0) % 2 === 1;
    note(runId, "replay");
    replays += 1;
    return isOdd ? step.run("left", () => "left") : step.run("right", () => "right");
  });
  const report = await tortured(order, { seed, roundMs, chaosRounds: 4 });
  expect(replays).toBeGreaterThan(report.rounds);
  expect(kinds(report.problems).some((kind) => kind === "NON_DETERMINISM" || kind === "RESULT_DIFFERS")).toBe(true);
});

test("a result that depends on how often the handler ran is found", async () => {
  const passes = new Map<string, number>();
  const order = app.createFunction({ id: "order", triggers: [] }, async ({ step, runId }) => {
    passes.set(runId, (passes.get(runId) ?? 0) + 1);
    await step.run("charge", () => 1);
    await step.run("pack", () => 2);
    return passes.get(runId);
  });
  const report = await tortured(order, { seed, roundMs, chaosRounds: 0 });
  expect(kinds(report.problems)).toEqual(["RESULT_DIFFERS"]);
});

test("what cannot be tortured is refused in words", async () => {
  const waits = app.createFunction({ id: "waits", triggers: [] }, async ({ step }) =>
    step.run("long", () => new Promise((resolve) => setTimeout(resolve, 60_000).unref())),
  );
  await expect(tortured(waits, { roundMs: 300 })).rejects.toMatchObject({
    code: "FAULT_INVALID",
    message: expect.stringContaining("did not end within 300 ms"),
  });
  await expect(tortured({ slug: "shop-none" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  const plain = app.createFunction({ id: "plain", triggers: [] }, async ({ step }) => step.run("a", () => 1));
  await expect(tortured(plain, { round: 999 })).rejects.toThrow("There is no round 999");
  const batched = app.createFunction(
    { id: "batched", triggers: [], batchEvents: { maxSize: 2, timeout: "1s" } },
    async () => 1,
  );
  await expect(tortured(batched)).rejects.toThrow("starts no run for each event");
});
