/** What the blocks of the README use and do not show. */
import type { Holdfast, HoldfastFunction } from "holdfast";

export declare const app: Holdfast;
export declare const order: HoldfastFunction<
  { readonly card: string; readonly items: readonly string[] },
  { readonly payment: { readonly id: string } }
>;
