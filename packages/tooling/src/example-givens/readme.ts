/** What the blocks of the README use and do not show. */
import { eventType, Holdfast, staticSchema } from "holdfast";

export const app = new Holdfast({ id: "shop" });
const placed = eventType("shop/order.placed", { schema: staticSchema<{ card: string; items: string[] }>() });
export const order = app.createFunction({ id: "order", triggers: placed }, ({ event }) => ({
  payment: { id: `payment by ${event.data.card}` },
}));

/** The app of the first block is connected. */
export async function prepare(): Promise<void> {
  await app.connect({ functions: [order] });
}
