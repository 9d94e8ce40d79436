/** What the blocks of docs/busy-code.md use and do not show. */
import type { Holdfast } from "holdfast";

export declare const app: Holdfast;
