import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { marksOf } from "../support/marks.mjs";
import { inWorld } from "./world.ts";

const code = marksOf(fileURLToPath(new URL("../fixtures/stalling.mjs", import.meta.url)));
const extended = { name: "with extensions", extensions: true };

test("a blocking step is reported on stderr, in the run and at the gateway, then in logger and debug state", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended, api, gateway, journal, until }) => {
    const app = await startAppOf("stall-app.mjs");
    const runId = await trigger("in-step", { gate: "blocked" });
    // One of its reports: a single one may show the short look at the gate, or nothing, where a busy machine has
    // interrupted it.
    const isReport = (text: string): boolean =>
      text.startsWith("holdfast: The main thread has been blocked") && text.includes("at keepBusy (");
    const line = await app.line(isReport, 100_000);
    expect(line).toContain(`at keepBusy (${code("keepBusy")}`);
    expect(line).toContain(`in function e2e-in-step, step "count the invoices", run ${runId}.`);
    await app.line((text) => text.includes(`at countInvoices (${code("countUntil")}`), 100_000);
    await gateway.line((text) => text.includes("has been blocked for") && text.includes(runId), 100_000);
    // The gateway says so when it hears of it, and stores it then.
    // On a busy machine there may be one before that says that there is no processor.
    const isInLoop = ({ codeName }: { readonly codeName?: string | null }): boolean =>
      codeName !== "isOpen" && codeName !== undefined;
    await until("the stall to be in the run", async () => (await api.run(runId)).stalls.some(isInLoop));
    const blocked = await api.run(runId);
    expect(blocked.status, "its status while it lasts").toBe("RUNNING");
    const stall = blocked.stalls.find(isInLoop);
    expect(stall).toMatchObject({ ended: false, stepId: "count the invoices", codeName: "keepBusy" });
    expect(stall?.location).toContain(code("keepBusy"));
    journal.open("blocked");

    const run = await ended(runId);
    expect(run).toMatchObject({ status: "COMPLETED", output: "counted" });
    const last = run.stalls.at(-1);
    expect(last).toMatchObject({ ended: true });
    expect(last?.stalledMs).toBeGreaterThan(stall?.stalledMs ?? Number.POSITIVE_INFINITY);
    const endLine = await app.line((text) => text.includes("It is responsive again."), 100_000);
    expect(endLine).toContain(`run ${runId}`);
    const { stalls } = (await app.ask("debugState")).thread;
    expect(stalls).toMatchObject({ detection: "on", count: 1, current: null });
    expect(stalls.last.report).toMatchObject({
      execution: { runId, functionSlug: "e2e-in-step", stepId: "count the invoices" },
      foundBy: "stack",
    });
    expect((await api.counters()).stalls).toBeGreaterThan(0);
    await app.close();
  });
});

test("maxStall gives the run to another worker; the blocked one is told afterwards and its late result is stale", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended, noted, journal, api, until }) => {
    const env = { HOLDFAST_STALL_THRESHOLD: "300ms", HOLDFAST_MAX_STALL: "1s" };
    const first = await startAppOf("stall-app.mjs", { env });
    const runId = await trigger("too-long", { gate: "work" });
    await noted(runId, "work");
    const second = await startAppOf("stall-app.mjs", { env });
    await first.line((text) => text.includes("Its requests were returned"), 100_000);
    const run = await ended(runId);
    expect(run).toMatchObject({ status: "COMPLETED", output: second.pid });
    // The next report says so; the run may be over by then.
    await until("a report that says that the work was given up", async () =>
      (await api.run(runId)).stalls.some((stall) => stall.leasesGivenUp === true && !stall.ended),
    );
    expect(journal.entries(runId).filter(({ what }) => what === "after work")).toMatchObject([{ pid: second.pid }]);
    journal.open("work");

    await noted(runId, `aborted in ${first.pid}`);
    await noted(runId, "work done", 2);
    const { leasesRefused = 0, checkpointsStale = 0 } = await api.counters();
    expect(leasesRefused + checkpointsStale).toBeGreaterThan(0);
    // It takes work again.
    await second.close();
    expect(await ended(await trigger("too-long", { blockMs: 10 }))).toMatchObject({ output: first.pid });
    await first.close();
  });
});

test("maxStall without another worker accepts the blocked worker's late result", async () => {
  await inWorld(extended, async ({ startAppOf, trigger, ended, journal }) => {
    const env = { HOLDFAST_STALL_THRESHOLD: "300ms", HOLDFAST_MAX_STALL: "600ms" };
    const app = await startAppOf("stall-app.mjs", { env });
    const runId = await trigger("too-long", { blockMs: 2_000 });
    expect(await ended(runId)).toMatchObject({ status: "COMPLETED", output: app.pid });
    expect(journal.counts(runId)).toEqual({ work: 1, "work done": 1, "after work": 1 });
    await app.close();
  });
});
