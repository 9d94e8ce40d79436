import { type Gateway, startGateway } from "@holdfast/gateway";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { afterEach, beforeEach, expect, inject, test } from "vitest";

/** Two environments with the same app beside each other, as apps on the SDK see it. */

let db: TestDatabase;
const gateways: Gateway[] = [];
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  await db.drop();
});

const ENVIRONMENTS = ["production", "preview"] as const;
type Environment = (typeof ENVIRONMENTS)[number];
const KEYS = { production: `signkey-prod-${"a".repeat(32)}`, preview: `signkey-prev-${"b".repeat(32)}` };
const COUNTS = { production: 10, preview: 4 };

async function startOne(keyed: boolean, plain = false): Promise<Gateway> {
  const keys = ENVIRONMENTS.flatMap((environment) => [
    { name: `apps of ${environment}`, kind: "signing" as const, key: KEYS[environment], environment },
    { name: `events of ${environment}`, kind: "event" as const, key: `events-${environment}`, environment },
  ]);
  const gateway = await startGateway({ port: 0, databaseUrl: db.url, plain, ...(keyed ? { keys } : {}) });
  gateways.push(gateway);
  return gateway;
}

function clientOf(environment: Environment, { url: baseUrl }: Gateway, keyed: boolean): Holdfast {
  const common = { id: "shop", env: environment, baseUrl };
  if (!keyed) return new Holdfast({ ...common, isDev: true });
  return new Holdfast({ ...common, signingKey: KEYS[environment], eventKey: `events-${environment}` });
}

test.each([
  { name: "extensions, no keys", plain: false, keyed: false },
  { name: "extensions, a key for each", plain: false, keyed: true },
  { name: "plain protocol, no keys", plain: true, keyed: false },
  { name: "plain protocol, a key for each", plain: true, keyed: true },
])("each environment sees only its own events and those that its runs send ($name)", async ({ plain, keyed }) => {
  const seen: Record<Environment, string[]> = { production: [], preview: [] };
  const clients: Holdfast[] = [];
  for (const environment of ENVIRONMENTS) {
    const client = clientOf(environment, await startOne(keyed, plain), keyed);
    const order = client.createFunction({ id: "order", triggers: { event: "shop/order" } }, async ({ event, step }) => {
      await step.run("note", () => seen[environment].push(`order of ${event.data.from}`));
      await step.sendEvent("paid", { name: "shop/paid", data: { from: environment } });
    });
    const receipt = client.createFunction({ id: "receipt", triggers: { event: "shop/paid" } }, ({ event }) => {
      seen[environment].push(`receipt of ${event.data.from}`);
    });
    const connection = await client.connect({ functions: [order, receipt] });
    closing.push(() => connection.close());
    clients.push(client);
  }
  for (const [index, environment] of ENVIRONMENTS.entries()) {
    const events = Array.from({ length: COUNTS[environment] }, () => ({
      name: "shop/order",
      data: { from: environment },
    }));
    await clients[index]?.send(events);
  }
  const expected = (environment: Environment): string[] =>
    ["order", "receipt"].flatMap((what) => Array(COUNTS[environment]).fill(`${what} of ${environment}`));
  const all = (): number => seen.production.length + seen.preview.length;
  await waitFor(() => all() >= 2 * (COUNTS.production + COUNTS.preview), {
    what: "all runs",
    context: () => JSON.stringify(seen),
  });
  for (const environment of ENVIRONMENTS) expect(seen[environment].toSorted()).toEqual(expected(environment));
});

test("a client with the key of another environment gets an error that says so", async () => {
  const { url: baseUrl } = await startOne(true);
  const client = new Holdfast({
    id: "shop",
    baseUrl,
    env: "production",
    signingKey: KEYS.preview,
    eventKey: "events-preview",
  });
  const fn = client.createFunction({ id: "order", triggers: { event: "shop/order" } }, () => 1);
  await expect(client.connect({ functions: [fn], connectTimeout: "5s" })).rejects.toThrow(/belongs to the environment/);
  await expect(client.send({ name: "shop/order" })).rejects.toThrow(/belongs to the environment/);
  expect(() => new Holdfast({ id: "shop", isDev: true, env: "a b" })).toThrow(/visible ASCII/);
});
