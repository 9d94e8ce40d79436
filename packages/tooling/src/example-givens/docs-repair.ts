/** What the blocks of docs/repair.md use and do not show. */
import type { Holdfast } from "holdfast";

export declare const app: Holdfast;
