/** What the blocks of the SDK's README use and do not show. */
import type { Holdfast, HoldfastFunction, StepTools } from "holdfast";

export { NonRetriableError, referenceFunction } from "holdfast";

export declare const app: Holdfast;
export declare function charge(card: string): Promise<{ readonly id: string }>;
export declare const order: HoldfastFunction<{ readonly item: number }, string>;
export declare const orderId: string;
export declare function parsePage(html: string): { readonly title: string };
export declare const printLabel: HoldfastFunction<{ readonly orderId: string }, string>;
export declare const seats: { book(trip: string): Promise<{ readonly id: string }>; cancel(id: string): Promise<void> };
export declare const ship: HoldfastFunction<{ readonly orderId: string }, string> &
  ((items: readonly string[], payment: object) => Promise<string>);
export declare const step: StepTools;
export declare const trip: string;
export declare const url: string;
