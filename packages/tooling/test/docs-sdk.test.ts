import { expect, test } from "vitest";
import { sdkPage } from "../src/docs-sdk.ts";
import { optionsOf } from "../src/examples.mjs";
import { fixture } from "./fixture.ts";

test("each option has a row with its type, its sentence and its example", () => {
  const folder = fixture({
    "packages/sdk/src/index.ts": 'export type { StepOptions } from "./steps.ts";',
    "packages/sdk/src/steps.ts": `/** What a step takes. */
export interface StepOptions {
  /**
   * How often,
   * or \`0\`.
   * @example retries: 2
   */
  readonly retries?: number | "many";
  /**
   * Its name.
   * @example id: "a"
   */
  readonly id: string;
}`,
  });
  const page = sdkPage(optionsOf(folder));
  expect(page).toContain(`## StepOptions

What a step takes.

| option | type | | for example |
|---|---|---|---|
| \`retries?\` | \`number \\| "many"\` | How often, or \`0\`. | \`retries: 2\` |
| \`id\` | \`string\` | Its name. | \`id: "a"\` |
`);
});
