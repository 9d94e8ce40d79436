/** What the blocks of docs/repair.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop" });

/** A run of the page's function is there. */
export async function prepare(): Promise<void> {
  const order = app.createFunction({ id: "order", triggers: { event: "shop/order.placed" } }, () => "shipped");
  await app.connect({ functions: [order] });
  await (await app.invoke(order, { data: {} })).result();
}
