import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDatabase, waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { expect, inject, onTestFinished, test } from "vitest";
import { Child } from "../support/child.mjs";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";

/** The only gateway is restarted while workers compute: they have their work still, whoever comes back first. */

const KEYS = { signingKey: `signkey-test-${"0123456789abcdef".repeat(2)}`, eventKey: "restarted-event-key" };
const KEYS_IN_ENV = { HOLDFAST_SIGNING_KEY: KEYS.signingKey, HOLDFAST_EVENT_KEY: KEYS.eventKey };
const LEASE_MS = 12_000;

async function gatewayOn(databaseUrl: string, port: number): Promise<RunningGateway> {
  const gateway = await startGateway({ databaseUrl, port, lease: `${LEASE_MS}ms`, env: KEYS_IN_ENV });
  onTestFinished(async () => void (await gateway.child.kill()));
  return gateway;
}

async function worker(url: string): Promise<Child> {
  const env = { HOLDFAST_BASE_URL: url, ...KEYS_IN_ENV };
  const child = new Child(fileURLToPath(new URL("../fixtures/restart-app.mjs", import.meta.url)), {
    name: "A worker",
    env,
  });
  onTestFinished(async () => void (await child.kill()));
  await child.message((message) => message.ready === true);
  return child;
}

test.each([
  { how: "is stopped, and started again at once", end: (one: Child) => one.stop(60_000), awayMs: 0 },
  { how: "is killed, and away for longer than a lease", end: (one: Child) => one.kill(), awayMs: LEASE_MS + 1_000 },
])("a step goes on at its worker while the only gateway $how", async ({ end, awayMs }) => {
  const database = await createDatabase(inject("postgresUrl"));
  onTestFinished(() => database.drop());
  const first = await gatewayOn(database.url, 0);
  const client = new Holdfast({ id: "outliving", isDev: false, baseUrl: first.url, logLevel: "off", ...KEYS });
  const holder = await worker(first.url);
  const send = async (name: string): Promise<string> => (await client.send({ name, data: {} })).ids[0] ?? "";
  const runOf = async (eventId: string) => (await client.listRuns({ eventId })).runs[0];
  const slow = await send("outliving/slow");
  await waitFor(async () => (await holder.ask("begun")) === 1, { what: "the step to begin" });

  await end(first.child);
  // Whoever else is there comes back before the worker that has the work.
  holder.signal("SIGSTOP");
  await sleep(awayMs);
  await gatewayOn(database.url, first.port);
  const other = await worker(first.url);
  const quick = await send("outliving/quick");
  await waitFor(async () => (await runOf(quick))?.status === "COMPLETED", { what: "another run to end" });
  holder.signal("SIGCONT");

  await waitFor(async () => (await holder.ask("state")) === "ACTIVE", { what: "the worker to be back" });
  await holder.ask("release");
  await waitFor(async () => (await runOf(slow))?.status === "COMPLETED", { what: "the step's run to end" });
  expect((await runOf(slow))?.output).toBe(holder.pid);
  expect([await holder.ask("begun"), await other.ask("begun")]).toEqual([1, 0]);
  await Promise.all([holder.ask("close"), other.ask("close")]);
});
