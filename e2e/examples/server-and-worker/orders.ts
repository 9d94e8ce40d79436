/** What the shop does. The server takes the types of this file alone, the worker runs it. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop" });

interface Order {
  readonly orderId: string;
  readonly items: readonly string[];
}

export const order = app.createFunction(
  { id: "order", triggers: { event: "shop/order.placed" }, concurrency: { limit: 50 } },
  async ({ event, step, logger }) => {
    const { orderId, items } = event.data as Order;
    const payment = await step.run("charge the card", () => ({ id: `payment of ${orderId}` }));
    await step.sleep("let the warehouse pack", process.env.PACK_TIME ?? "5s");
    const shipped = await Promise.all(items.map((item) => step.run(`ship ${item}`, () => `${item} is on its way`)));
    logger.info("shipped", { orderId, items: items.length });
    return { payment: payment.id, shipped };
  },
);
