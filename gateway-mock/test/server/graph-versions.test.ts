/** What calls that publish at the same time are answered: each with the version that it has made or published. */
import { randomUUID } from "node:crypto";
import { systemClock } from "@holdfast/core";
import { createMemoryDatabase, type Store } from "@holdfast/store";
import { expect, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/index.ts";
import { GraphDefinitions } from "../../src/graphs/definitions.ts";
import { call, useGateway } from "./harness.ts";

const bench = useGateway();
const CALLS = 20;
const numbers = Array.from({ length: CALLS }, (_, index) => index + 1);
const graph = {
  id: "a",
  title: "A",
  nodes: [
    { id: "start", type: "start" },
    { id: "end", type: "end" },
  ],
  edges: [{ from: "start", to: "end" }],
};

const inMemory = (): Store =>
  createMemoryDatabase({ clock: systemClock, soon: setImmediate, newUuid: randomUUID, secret: "s" }).open();

test.each([
  ["on Postgres", () => bench.store],
  ["in memory", inMemory],
])("each of many calls that publish at once gets the version that it has made or published, %s", async (_, open) => {
  const [store, name] = [open(), { environment: "", tenant: "", id: "a" }];
  // Without triggers nothing is asked of it.
  const definitions = new GraphDefinitions({ store, dispatcher: {} as Dispatcher, newId: randomUUID });
  await definitions.put(name, { graph });
  const made = await Promise.all(numbers.map(() => definitions.publish(name, {})));
  expect(made.map(({ version }) => version).sort((a, b) => Number(a) - Number(b))).toEqual(numbers);
  for (const { version, lastVersion, publishedMs } of made) {
    expect(lastVersion).toBeGreaterThanOrEqual(version ?? Number.NaN);
    expect(publishedMs).not.toBeNull();
  }
  const again = await Promise.all(numbers.map((version) => definitions.publish(name, { version })));
  expect(again.map(({ version }) => version)).toEqual(numbers);
  expect(again.map(({ lastVersion }) => lastVersion)).toEqual(numbers.map(() => CALLS));
  expect((await definitions.unpublish(name)).version).toBeNull();
});

test("answers over HTTP name the version that their call has made", async () => {
  const gateway = await bench.gateway();
  await call(gateway, "/v1/graphs/a", { method: "PUT", body: JSON.stringify({ graph }) });
  const publish = () => call(gateway, "/v1/graphs/a/publish", { method: "POST" }) as Promise<{ version: number }>;
  const answers = await Promise.all(numbers.map(publish));
  expect(answers.map(({ version }) => version).sort((a, b) => a - b)).toEqual(numbers);
});
