import { readFileSync } from "node:fs";
import { Holdfast } from "holdfast";
import { expect, test } from "vitest";
import { definitionOf, type HoldfastFunction } from "../../src/functions/define-function.ts";

declare function remind(cron: string): Promise<void>;
declare function greet(data: object): Promise<void>;
declare function makeThumbnails(file: string): Promise<string[]>;
declare function push(tenant: string): Promise<void>;
declare function buildReport(): Promise<string>;
declare function insertAll(rows: readonly object[]): Promise<number>;
declare function tell(data: object, message: string): Promise<void>;
declare function reserve(cart: string): Promise<{ id: string }>;
declare function release(id: string): Promise<void>;
declare function pay(card: string, options: { signal: AbortSignal }): Promise<void>;
declare function lookUp(question: string): Promise<string[]>;
declare class HttpError extends Error {
  readonly status: number;
}
declare function print(order: string): Promise<string>;
declare function sendTo(address: string, pdf: string): Promise<void>;
declare function fetchPage(cursor: string): Promise<string>;
declare function write(facts: readonly string[]): Promise<string>;

// The examples of docs/functions.md, each as it stands there.

const app = new Holdfast({ id: "shop" });

const welcome = app.createFunction(
  {
    id: "welcome",
    triggers: [
      { event: "shop/customer.signed-up", if: "event.data.country in ['DE', 'AT']" },
      { event: "shop/import.*" },
      { cron: "TZ=Europe/Berlin 0 9 * * 1-5" },
    ],
  },
  async ({ event, step }) => {
    if (event.name === "inngest/scheduled.timer") return step.run("remind", () => remind(event.data.cron));
    return step.run("greet", () => greet(event.data));
  },
);

const thumbnails = app.createFunction(
  {
    id: "thumbnails",
    triggers: { event: "media/uploaded" },
    concurrency: [
      { limit: 2, key: "event.data.customer" },
      { limit: 50, scope: "account", key: "'media'" },
    ],
    priority: { run: "event.data.plan == 'paid' ? 120 : 0" },
  },
  ({ event, step }) => step.run("make", () => makeThumbnails(event.data.file)),
);

const sync = app.createFunction(
  {
    id: "sync",
    triggers: { event: "crm/changed" },
    throttle: { limit: 10, period: "1m", burst: 5, key: "event.data.tenant" },
    debounce: { period: "30s", timeout: "10m", key: "event.data.tenant" },
  },
  ({ event, step }) => step.run("push", () => push(event.data.tenant)),
);

const report = app.createFunction(
  {
    id: "report",
    triggers: { event: "shop/report.wanted" },
    rateLimit: { limit: 1, period: "1h", key: "event.data.customer" },
    singleton: { mode: "skip", key: "event.data.customer" },
  },
  ({ step }) => step.run("build", () => buildReport()),
);

const ingest = app.createFunction(
  {
    id: "ingest",
    triggers: { event: "metrics/point" },
    batchEvents: { maxSize: 100, timeout: "5s", key: "event.data.series" },
  },
  ({ events, step }) => step.run("insert", () => insertAll(events.map((event) => event.data))),
);

const checkout = app.createFunction(
  {
    id: "checkout",
    triggers: { event: "shop/checkout.begun" },
    idempotency: "event.data.cart",
    timeouts: { start: "10m", finish: "2h" },
    cancelOn: [{ event: "shop/checkout.abandoned", match: "data.cart" }],
    retries: 4,
    onFailure: ({ error, event, step }) => step.run("tell", () => tell(event.data.event.data, error.message)),
  },
  async ({ event, step, signal }) => {
    const seat = await step.run("reserve", () => reserve(event.data.cart), { compensate: (seat) => release(seat.id) });
    await step.run("pay", () => pay(event.data.card, { signal }));
    return seat;
  },
);

const answer = app.createFunction(
  { id: "answer", triggers: { event: "chat/asked" }, deadline: "90s" },
  async ({ event, step, version }) => {
    const facts = await step.run("look up", () => lookUp(event.data.question));
    if (version === "1.0") return facts;
    return step.run("write", () => write(facts));
  },
);

const dropped = { event: "shop/order.dropped", match: "data.order" };

const ship = app.createFunction(
  { id: "ship", triggers: { event: "shop/order.packed" }, cancelOn: [dropped] },
  ({ event, step }) => step.run("print", print, event.data.order),
);
const order = app.createFunction(
  { id: "order", triggers: { event: "shop/order.placed" }, cancelOn: [dropped] },
  ({ event, step }) => step.invoke("ship", { function: ship, data: { order: event.data.order } }),
);

const invoice = app.createFunction(
  {
    id: "invoice",
    triggers: { event: "shop/paid" },
    retries: { attempts: 6, base: "2s", factor: 3, max: "10m", jitter: 0.2 },
    retryIf: (error) => !(error instanceof HttpError && error.status < 500),
  },
  async ({ event, step }) => {
    const pdf = await step.run("print", () => print(event.data.order));
    await step.run("send", () => sendTo(event.data.address, pdf), { retries: { attempts: 2, base: "1m" } });
  },
);

const packing = app.createFunction(
  { id: "packing", triggers: { event: "shop/order.picked" } },
  async ({ event, step }) => {
    const items: string[] = event.data.items;
    const labels = await Promise.all(items.map((item) => step.run(`print ${item}`, () => print(item))));
    for (const label of labels) await step.run(`send ${label}`, () => sendTo(event.data.address, label));
  },
);

const poller = app.createFunction(
  { id: "poller", triggers: { event: "feed/watch" } },
  async ({ event, step, continueAs }) => {
    let { cursor } = event.data;
    for (let page = 0; page < 100; page += 1) {
      cursor = await step.run("fetch", () => fetchPage(cursor));
      await step.sleep("pause", "1m");
    }
    return continueAs({ ...event.data, cursor });
  },
);

test("the guide contains exactly these examples", () => {
  const guide = readFileSync(new URL("../../../../docs/functions.md", import.meta.url), "utf8");
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code.trim());
  expect(blocks.length).toBeGreaterThan(0);
  for (const block of blocks) expect(source).toContain(block);
});

test("the examples of the guide register this configuration", () => {
  const functions: readonly HoldfastFunction[] = [
    welcome,
    thumbnails,
    sync,
    report,
    ingest,
    checkout,
    answer,
    ship,
    order,
    invoice,
    packing,
    poller,
  ] as readonly HoldfastFunction[];
  const configs = functions.map((fn) => definitionOf(fn)?.config);
  expect(configs).toMatchObject([
    { triggers: [{ event: "shop/customer.signed-up" }, { event: "shop/import.*" }, { cron: expect.any(String) }] },
    { concurrency: [{ limit: 2 }, { limit: 50, scope: "account" }], priority: {} },
    { throttle: { limit: 10, period: "1m", burst: 5 }, debounce: { period: "30s", timeout: "10m" } },
    { rateLimit: { limit: 1, period: "1h" }, singleton: { mode: "skip" } },
    { batchEvents: { maxSize: 100, timeout: "5s" } },
    { idempotency: "event.data.cart", timeouts: { start: "10m", finish: "2h" }, cancel: [{ if: expect.any(String) }] },
    { holdfast: { deadline: "1m30s" } },
    { cancel: [{ event: "shop/order.dropped" }] },
    { cancel: [{ event: "shop/order.dropped" }] },
    { steps: { step: { retries: { attempts: 6 } } } },
    { triggers: [{ event: "shop/order.picked" }] },
    { triggers: [{ event: "feed/watch" }] },
  ]);
});
