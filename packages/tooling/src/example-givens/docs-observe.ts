/** What the blocks of docs/observe.md use and do not show. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Holdfast, type TriggerInput } from "holdfast";

export { channel } from "node:diagnostics_channel";
export type { HoldfastChannels } from "holdfast";

const show = (...about: unknown[]): void => console.log(...about);

export const app = new Holdfast({ id: "shop" });
export const order = app.createFunction(
  { id: "order", triggers: { event: "shop/order.placed" } },
  async ({ event, step }) => step.run("charge", () => `item ${event.data.item}`),
);
const broken = app.createFunction({ id: "broken", triggers: { event: "shop/broken" }, retries: 0 }, () => {
  throw new Error("It fails.");
});
export const functions = [order];
export const triggers: readonly TriggerInput[] = [{ event: "shop/order.wanted" }];
export const alerts = { send: show };
export const card = "4242";
export const data = { item: 7 };
export const health = { set: show };
export const histogram = { record: show };
export const progress = { show, warn: show };
export const spans = new AsyncLocalStorage<unknown>();
export const tracer = { startSpan: (name: string, options: object): unknown => ({ name, options }) };

const end = new AbortController();
export const { signal } = end;

/** The app's worker is connected; runs fail, and after some are seen nobody looks on. */
export async function prepare(): Promise<void> {
  await app.connect({ functions: [order, broken] });
  const timer = setInterval(() => void app.send({ name: "shop/broken", data: {} }), 200);
  alerts.send = (...about) => {
    show(...about);
    clearInterval(timer);
    end.abort();
  };
}
