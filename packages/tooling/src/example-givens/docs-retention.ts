/** What the blocks of docs/retention.md use and do not show. */
import type { Holdfast } from "holdfast";

export declare const app: Holdfast;
export declare function look(): Promise<string>;
