/** What the blocks of docs/functions.md use and do not show. */
import { Holdfast } from "holdfast";

export { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop" });

export class HttpError extends Error {
  readonly status: number = 503;
}

const done = async (...about: unknown[]): Promise<void> => console.log(...about);

export const buildReport = async (): Promise<string> => "the report";
export const fetchPage = async (cursor: string): Promise<string> => `${cursor}+`;
export const greet: (data: object) => Promise<void> = done;
export const insertAll = async (rows: readonly object[]): Promise<number> => rows.length;
export const lookUp = async (question: string): Promise<string[]> => [question];
export const makeThumbnails = async (file: string): Promise<string[]> => [file];
export const pay: (card: string, options: { readonly signal: AbortSignal }) => Promise<void> = done;
export const print = async (order: string): Promise<string> => order;
export const push: (tenant: string) => Promise<void> = done;
export const release: (id: string) => Promise<void> = done;
export const remind: (cron: string) => Promise<void> = done;
export const reserve = async (cart: string): Promise<{ readonly id: string }> => ({ id: cart });
export const sendTo: (address: string, pdf: string) => Promise<void> = done;
export const tell: (data: object, message: string) => Promise<void> = done;
export const write = async (facts: readonly string[]): Promise<string> => facts.join();
