import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createDatabase, waitFor } from "@holdfast/testing";
import { HoldfastClient } from "holdfast/client";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { gatewayApi } from "../support/api.mjs";
import { Child } from "../support/child.mjs";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";

/** The programs of `examples/`, each as a process of its own, at one gateway. Guides quote them. */

const tsx = pathToFileURL(createRequire(new URL("../../package.json", import.meta.url)).resolve("tsx")).href;
let gateway: RunningGateway;
let closeDatabase: () => Promise<void>;
let client: HoldfastClient;

beforeAll(async () => {
  const database = await createDatabase(inject("postgresUrl"));
  closeDatabase = () => database.drop();
  gateway = await startGateway({ databaseUrl: database.url, retryBase: "20ms" });
  client = new HoldfastClient({ id: "tests", isDev: true, baseUrl: gateway.url });
});

afterAll(async () => {
  await gateway?.child.stop();
  await closeDatabase?.();
});

/** A program, once it has said that it is ready; it must end by SIGTERM alone. */
async function start(file: string, env: Record<string, string>, ready = /Connected to/): Promise<Child> {
  const child = new Child(fileURLToPath(new URL(`../examples/${file}`, import.meta.url)), {
    name: file,
    env: { HOLDFAST_DEV: gateway.url, PORT: "0", ...env },
    nodeArgs: ["--import", tsx],
  });
  onTestFinished(async () => {
    if (!child.alive) return;
    await child.stop();
    const { code, signal } = await child.exited;
    expect(code ?? signal, child.tail()).toBeOneOf([0, "SIGTERM"]);
  });
  await child.line((line) => ready.test(line), 100_000);
  return child;
}

interface Called {
  readonly path: string;
  readonly key: string | undefined;
  readonly body: unknown;
}

/** What the programs call. `answer` gives a status and a body; the calls are kept. */
async function service(answer: (called: Called) => unknown): Promise<{ url: string; calls: Called[] }> {
  const calls: Called[] = [];
  const server = createServer(async (request, response) => {
    const called = {
      path: request.url ?? "",
      key: keyOf(request),
      body: JSON.parse((await textOf(request)) || "null"),
    };
    calls.push(called);
    try {
      const { status = 200, ...body } = (await answer(called)) as { status?: number };
      response.writeHead(status, { "content-type": "application/json", "retry-after": "0" }).end(JSON.stringify(body));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, calls };
}

const keyOf = ({ headers }: IncomingMessage): string | undefined => headers["idempotency-key"]?.toString();

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

/** The run that an event has started. */
async function sendFor(name: string, data: Record<string, unknown>): Promise<string> {
  const { ids } = await client.send({ name, data });
  return waitFor(async () => (await client.listRuns({ eventId: ids[0] ?? "" })).runs[0]?.id, { what: "a run" });
}

const outputOf = (runId: string): Promise<unknown> => client.runs.handle(runId).result({ timeout: "60s" });

test("an agent that is killed between two turns asks the model nothing twice, and refunds when it may", async () => {
  const call = (id: string, name: string) => ({
    ...{ id, type: "function", function: { name, arguments: '{"order":7}' } },
  });
  const says = [
    { role: "assistant", content: "", tool_calls: [call("c1", "look-up-order"), call("c2", "fly")] },
    { role: "assistant", content: "", tool_calls: [call("c3", "refund")] },
    { role: "assistant", content: "You get 5 back." },
  ];
  let isBusy = true;
  const model = await service(({ body }) => {
    if (isBusy) {
      isBusy = false;
      return { status: 429 };
    }
    const { messages } = body as { messages: { role: string }[] };
    return { choices: [{ message: says[messages.filter(({ role }) => role === "assistant").length] }] };
  });
  const shop = await service(({ path }) => ({ path, cents: 500 }));
  const env = { MODEL_URL: model.url, SHOP_URL: shop.url };
  const app = await start("ai-agent/answer.ts", env);
  const runId = await sendFor("support/asked", { question: "Where is my money?", customer: "ann" });
  await waitFor(
    async () => (await gatewayApi(gateway.url).run(runId)).steps.some(({ name }) => name === "approve refund"),
    {
      what: "the agent to ask for approval",
    },
  );
  await app.kill();
  await start("ai-agent/answer.ts", env);
  await client.sendSignal({ signal: `${runId} c3`, data: "yes" });
  expect(await outputOf(runId)).toEqual({ answer: "You get 5 back.", turns: 3 });
  expect(model.calls).toHaveLength(4);
  const last = model.calls.at(-1)?.body as { messages: { content: string }[] };
  expect(last.messages.map(({ content }) => content)).toContain("There is no tool fly.");
  expect(shop.calls.map(({ path, key }) => [path, key])).toEqual([
    ["/customers/ann/orders/7", undefined],
    ["/customers/ann/orders/7/refund", `${runId} c3`],
  ]);
});

test("a large file is imported in parts, each row once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-import-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const rows = Array.from({ length: 50_000 }, (_, index) => ({ item: `item ${index}`, cents: index % 1000 }));
  const path = join(folder, "rows.csv");
  await writeFile(path, rows.map(({ item, cents }) => `${item};${(cents / 100).toFixed(2)}\n`).join(""));
  await start("import/import.ts", {});
  const runId = await sendFor("files/uploaded", { path, into: folder });
  const cents = rows.reduce((total, row) => total + row.cents, 0);
  expect(await outputOf(runId)).toEqual({ rows: rows.length, cents });
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
  expect(files).toHaveLength(8);
  const imported = await Promise.all(files.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))));
  expect(imported.flat()).toEqual(rows);
});

test("a trip is booked, undone when it is not approved, and undone when a service refuses", async () => {
  const services = await service(({ path, body }) => {
    const { tripId } = body as { tripId?: string };
    if (path === "/payments" && tripId === "poor") return { status: 422, text: "There is no money left." };
    return { id: `${path.slice(1)}-${tripId}` };
  });
  await start("trip/main.ts", { SERVICES_URL: services.url });
  const book = (tripId: string, cents: number) => sendFor("trip/wanted", { tripId, cents });
  const decide = (tripId: string, isApproved: boolean) =>
    client.send({ name: "trip/decided", data: { tripId, isApproved, by: "Ann" } });
  const ofTrip = (tripId: string) =>
    services.calls.filter(({ path, body }) => JSON.stringify([path, body]).includes(tripId)).map(({ path }) => path);

  const booked = { flight: "flights-fine", hotel: "hotels-fine", payment: "payments-fine" };
  expect(await outputOf(await book("fine", 1_000))).toEqual(booked);
  expect(ofTrip("fine")).toEqual(["/flights", "/hotels", "/payments"]);

  const dear = await book("dear", 200_000);
  await decide("dear", true);
  expect(await outputOf(dear)).toMatchObject({ payment: "payments-dear" });

  const refused = await book("refused", 200_000);
  await decide("refused", false);
  await expect(outputOf(refused)).rejects.toThrow("Ann does not approve.");
  const undone = ["/hotels/hotels-refused/cancellation", "/flights/flights-refused/cancellation"];
  await waitFor(() => ofTrip("refused").length === 6, { what: "the traveller to be told" });
  expect(ofTrip("refused")).toEqual(["/flights", "/hotels", "/messages", ...undone, "/messages"]);

  await expect(outputOf(await book("poor", 1_000))).rejects.toThrow("There is no money left.");
  await waitFor(() => ofTrip("poor").length === 6, { what: "the traveller to be told" });
  expect(ofTrip("poor").slice(3, 5)).toEqual(undone.map((path) => path.replaceAll("refused", "poor")));
});

test("an editor stores, tries, publishes and follows graphs, and is told what is wrong", async () => {
  const backend = await start("graph-editor/backend.ts", {}, /listening at/);
  const origin = /listening at (\S+)/.exec(backend.tail())?.[1] ?? "";
  const call = async (method: string, path: string, body?: unknown, customer = "acme") => {
    const headers = { "content-type": "application/json", "x-customer": customer };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${origin}${path}`, { method, headers, ...init });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const graph = {
    id: "welcome",
    title: "Welcome a customer",
    nodes: [
      { id: "start", type: "start" },
      { id: "customer", type: "lookUp", config: { query: "customer by id", id: "{{ctx.input.id}}" } },
      { id: "ask", type: "approval", config: { timeout: "1d" } },
      { id: "end", type: "end", config: { outputParameters: { name: "{{ctx.customer.name}}" } } },
    ],
    edges: [
      { from: "start", to: "customer" },
      { from: "customer", to: "ask" },
      { from: "ask", handle: "approved", to: "end" },
    ],
  };
  expect((await call("GET", "/node-types")).body).toMatchObject({ approval: {}, lookUp: {} });
  const wrong = { ...graph, edges: [...graph.edges, { from: "ask", handle: "perhaps", to: "end" }] };
  const draft = await call("PUT", "/graphs/welcome", { graph: wrong, revision: 0 });
  expect(draft.body).toMatchObject({ revision: 1, problems: [{ edge: expect.anything() }] });
  expect(await call("POST", "/graphs/welcome/publish", {})).toMatchObject({ status: 400, body: { problems: [{}] } });
  expect(await call("PUT", "/graphs/welcome", { graph, revision: 0 })).toMatchObject({
    ...{ status: 409, body: { code: "GRAPH_CONFLICT", revision: 1 } },
  });
  expect((await call("PUT", "/graphs/welcome", { graph, revision: 1 })).body).toMatchObject({ problems: [] });

  const decided = async ({ body }: { body: Record<string, unknown> }) => {
    const run = String(body.run);
    await waitFor(
      async () => {
        const { nodes } = (await call("GET", `/runs/${run}`)).body as { nodes: { id: string; status: string }[] };
        return nodes.some(({ id, status }) => id === "ask" && status === "running");
      },
      { what: "the approval to wait" },
    );
    await call("POST", `/runs/${run}/decision`, { node: "ask", isApproved: true });
    return outputOf(run);
  };
  const tried = await call("POST", "/graphs/welcome/tests", { graph, input: { id: "7" } });
  expect(await decided(tried)).toEqual({ name: "Customer 7" });
  expect((await call("POST", "/graphs/welcome/publish", {})).body).toMatchObject({ version: 1 });
  const run = await call("POST", "/graphs/welcome/runs", { input: { id: "8" } });
  expect(await decided(run)).toEqual({ name: "Customer 8" });
  expect((await call("GET", "/graphs/welcome", undefined, "other")).status).toBe(404);
});

test("a web server starts runs that a worker does, and both end when they are asked to", async () => {
  await start("server-and-worker/worker.ts", { PACK_TIME: "20ms" });
  const server = await start("server-and-worker/server.ts", {}, /Server listening/);
  const origin = /Server listening at (http:[^"]+)/.exec(server.tail())?.[1] ?? "";
  const place = async () => {
    const body = JSON.stringify({ items: ["apple", "pear"] });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${origin}/orders/17`, { method: "POST", headers, body });
    return { status: response.status, run: ((await response.json()) as { run: string }).run };
  };
  const first = await place();
  expect(first.status).toBe(202);
  expect(await place()).toEqual({ status: 200, run: first.run });
  const answer = await fetch(`${origin}/runs/${first.run}?wait=1`);
  expect(await answer.json()).toEqual({
    ...{ status: "COMPLETED", payment: "payment of 17" },
    shipped: ["apple is on its way", "pear is on its way"],
  });
});

/** What the pages leave to the reader. */
const given = `
const charge = async (card: string) => "paid by " + card;
const refund = async (payment: string) => {};
const ship = async (items: readonly string[]) => items.map((item) => item + " shipped");
const print = async () => {};
`;

test("what the pages about moving here show as the way it is written here runs", async () => {
  const folder = await mkdtemp(fileURLToPath(new URL("../node_modules/.moving-", import.meta.url)));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const shown = async (system: string, result: string) => {
    const page = await readFile(new URL(`../../docs/moving-from-${system}.md`, import.meta.url), "utf8");
    const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
    const file = join(folder, `${system}.ts`);
    await writeFile(
      file,
      `${given}${code.replace('"5s"', '"20ms"')}\nconsole.log("came to", JSON.stringify(${result}));\n`,
    );
    const env = { HOLDFAST_DEV: gateway.url, HOLDFAST_ENV: system };
    const child = new Child(file, { name: system, env, nodeArgs: ["--import", tsx] });
    onTestFinished(() => child.stop());
    return JSON.parse((await child.line((line) => line.startsWith("came to"), 100_000)).slice("came to ".length));
  };
  const [bullmq, temporal, dbos] = await Promise.all([
    shown("bullmq", "result"),
    shown("temporal", "shipped"),
    shown("dbos", "shipped"),
  ]);
  expect(bullmq).toEqual({ payment: "paid by 4242" });
  expect([temporal, dbos]).toEqual([["apple shipped"], ["apple shipped"]]);
});
