/** What the blocks of the SDK's README use and do not show. */
import { Holdfast, type StepTools } from "holdfast";

export { NonRetriableError, referenceFunction } from "holdfast";

export declare const step: StepTools;
export const app = new Holdfast({ id: "shop" });
export const orderId = "17";
export const trip = "42";
export const url = "data:application/json,{}";
export const charge = async (card: string): Promise<{ readonly id: string }> => ({ id: `payment by ${card}` });
export const parsePage = (html: string): { readonly title: string } => ({ title: html });
export const seats = {
  book: async (of: string): Promise<{ readonly id: string }> => ({ id: `seat of trip ${of}` }),
  cancel: async (id: string): Promise<void> => console.log(id),
};
export const order = app.createFunction(
  { id: "order", triggers: { event: "shop/order.placed" } },
  ({ event }): string => `receipt for ${event.data.item}`,
);
export const printLabel = app.createFunction(
  { id: "print-label", triggers: { event: "shop/packed" } },
  ({ event }): string => `label of ${event.data.orderId}`,
);
const shipping = app.createFunction({ id: "ship", triggers: { event: "shop/paid" } }, (): string => "shipped");
export const ship: typeof shipping & ((items: readonly string[], payment: object) => Promise<string>) = Object.assign(
  async (items: readonly string[], _payment: object): Promise<string> => items.join(),
  shipping,
);

/** The app's worker is connected. */
export async function prepare(): Promise<void> {
  await app.connect({ functions: [order, printLabel] });
}
