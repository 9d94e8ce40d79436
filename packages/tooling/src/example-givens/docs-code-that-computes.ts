/** What the blocks of docs/code-that-computes.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "site" });

export interface Page {
  readonly title: string;
}

export async function load(url: string): Promise<string> {
  return `<title>${url}</title>`;
}

export async function store(page: Page): Promise<void> {
  console.log(page.title);
}
