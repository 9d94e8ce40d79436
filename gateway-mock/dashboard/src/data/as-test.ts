/** A run as a test of its function: the event it got, and for each step what it gave. Pure. */
import type { RunDetail, Step } from "./types.ts";

const KEPT_FIELDS = ["name", "data"] as const;

export function testOf(run: RunDetail): string {
  const { functionId, appId, status, output, id } = run;
  const name = functionId.startsWith(`${appId}-`) ? functionId.slice(appId.length + 1) : functionId;
  const variable = variableOf(name);
  const steps = run.steps.flatMap(stepLine);
  const failure = (run.error ?? {}) as { readonly message?: string };
  const end =
    status === "FAILED"
      ? `expect(run.error?.message).toBe(${js(failure.message ?? "")});`
      : `expect(run.output).toEqual(${js(output, 2)});`;
  return `import { FunctionTest } from "@holdfast/testing/functions";
import { expect, test } from "vitest";
import { ${variable} } from "./functions.js";

// Run ${id}, ${status.toLowerCase()}.
test(${js(`${name} does what it did in run ${id}`)}, async () => {
  const tested = new FunctionTest(${variable}, {
    event: ${js(eventOf(run.event), 4)},
    steps: [${steps.length === 0 ? "" : `\n${steps.map((line) => `      ${line},`).join("\n")}\n    `}],
  });

  const run = await tested.run();
  ${end}
});
`;
}

function eventOf(event: unknown): unknown {
  const all = (event ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(KEPT_FIELDS.map((field) => [field, all[field]]));
}

/** Sleeps are skipped by the test itself, and a step without an end has nothing to answer. */
function stepLine({ name, op, status, output, error }: Step): string[] {
  if (name === null || op === "Sleep") return [];
  if (status === "completed") return [`{ id: ${js(name)}, handler: () => (${js(output ?? null, 8)}) }`];
  if (status !== "failed") return [];
  const { message = "" } = (error ?? {}) as { readonly message?: string };
  return [`{ id: ${js(name)}, handler: () => Promise.reject(new Error(${js(message)})) }`];
}

/** JSON is JavaScript; what follows the first line is moved in. */
function js(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, JSON.stringify(value)?.length > 60 ? 2 : 0) ?? "undefined";
  return text.replaceAll("\n", `\n${" ".repeat(indent)}`);
}

function variableOf(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const text = words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
  return /^[A-Za-z]/.test(text) ? text : `fn${text}`;
}
