/** What the blocks of docs/operate.md use and do not show. */
import type { Holdfast, HoldfastFunction } from "holdfast";

export declare const app: Holdfast;
export declare const order: HoldfastFunction;
