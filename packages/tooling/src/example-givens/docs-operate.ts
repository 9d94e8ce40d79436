/** What the blocks of docs/operate.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop", appVersion: "2.0" });
export const order = app.createFunction({ id: "order", triggers: { event: "shop/order.placed" } }, () => "shipped");

/** A worker of the version that is rolled out is connected. */
export async function prepare(): Promise<void> {
  await app.connect({ functions: [order], instanceId: "web-1" });
}
