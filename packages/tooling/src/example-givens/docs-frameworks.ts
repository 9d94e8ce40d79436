/** What the blocks of docs/frameworks.md use and do not show. */
import type { Holdfast, HoldfastFunction } from "holdfast";

export declare const app: Holdfast;
export declare const order: HoldfastFunction;
export declare const server: { close(): Promise<void>; listen(options: { port: number }): Promise<string> };
export declare class PaymentsService {
  charge(card: string): Promise<string>;
}
