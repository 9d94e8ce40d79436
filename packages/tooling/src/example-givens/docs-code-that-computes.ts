/** What the blocks of docs/code-that-computes.md use and do not show. */
import type { Holdfast } from "holdfast";

export declare const app: Holdfast;
export interface Page {
  readonly title: string;
}
export declare function load(url: string): Promise<string>;
export declare function store(page: Page): Promise<void>;
