/** What the blocks of docs/frameworks.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop" });
export const order = app.createFunction({ id: "order", triggers: { event: "shop/order.placed" } }, () => "shipped");

export const server: { close(): Promise<void>; listen(options: { port: number }): Promise<string> } = {
  close: async () => {},
  listen: async ({ port }) => `listening on ${port}`,
};

export class PaymentsService {
  async charge(card: string): Promise<string> {
    return `payment by ${card}`;
  }
}
