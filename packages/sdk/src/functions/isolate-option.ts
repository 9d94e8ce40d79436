/**
 * The option `isolate` of a function: which export of which module is the handler that a pool thread runs, and how long
 * one turn of it may take. Checked where the function is defined; `load-isolated.ts` imports the module.
 */
import { type DurationInput, describeValue, HoldfastError, parseDurationMs, pathOfFile } from "@holdfast/core";
import { nodeModule } from "../runtime.ts";
import { moduleUrl } from "../steps/isolated.ts";
import type { FunctionChecks } from "./function-checks.ts";
import { DAY_MS } from "./function-checks.ts";

/** Where the handler is, for a function that runs in a pool thread. */
export interface IsolateOption {
  /**
   * The module that exports it: `new URL("./report.js", import.meta.url)`, or `path.join(__dirname, "report.cjs")`.
   * @example module: new URL("./report.js", import.meta.url)
   */
  readonly module: URL | string;
  /**
   * The name of the export: a handler, or the same function made by `createFunction` with a handler.
   * @example export: "report"
   */
  readonly export: string;
  /**
   * How long one turn may take, from its start in the thread; after that the thread is ended. 10 ms to 24 h. Default 5
   * min.
   * @example budget: "20s"
   */
  readonly budget?: DurationInput;
}

/** The same, checked: plain data, since it goes to a thread. */
export interface IsolatedHandler {
  /** Address of the module. */
  readonly module: string;
  readonly exportName: string;
  readonly budgetMs: number;
}

export const DEFAULT_BUDGET_MS = 5 * 60_000;
const MIN_BUDGET_MS = 10;
const MAX_NAME_LENGTH = 200;
const ABSOLUTE_PATH = /^([/\\]|[a-zA-Z]:[/\\])/;
const EXAMPLE = 'new URL("./report.js", import.meta.url)';

/** @throws HoldfastError `FUNCTION_INVALID`, `ISOLATE_MODULE_INVALID` */
export function isolatedHandlerOf(check: FunctionChecks, value: unknown): IsolatedHandler {
  const given = check.object(value, "isolate", ["module", "export", "budget"]);
  const exportName = check.label(given.export, "isolate.export", MAX_NAME_LENGTH);
  const module = moduleOf(check, given.module);
  return { module, exportName, budgetMs: budgetOf(check, given.budget) };
}

function budgetOf(check: FunctionChecks, budget: unknown): number {
  if (budget === undefined) return DEFAULT_BUDGET_MS;
  try {
    const bounds = { minMs: MIN_BUDGET_MS, maxMs: DAY_MS };
    return parseDurationMs(budget as DurationInput, "`isolate.budget`", bounds);
  } catch (cause) {
    return check.fail((cause as Error).message, cause);
  }
}

function moduleOf(check: FunctionChecks, value: unknown): string {
  const isText = typeof value === "string" || value instanceof URL;
  const url = isText ? parsed(ABSOLUTE_PATH.test(String(value)) ? moduleUrl(value) : String(value)) : undefined;
  if (url?.protocol !== "file:") {
    return check.fail(
      `\`isolate.module\` must be the file URL or the absolute path of a module, as in ${EXAMPLE}, not ${named(value)}.`,
    );
  }
  if (isMissing(url)) {
    throw new HoldfastError(
      "ISOLATE_MODULE_INVALID",
      `${check.subject}: there is no file ${pathOfFile(url.href)}, which \`isolate.module\` names. A bundler must emit it as a file of its own, beside the one that defines the function.`,
    );
  }
  return url.href;
}

function named(value: unknown): string {
  return value instanceof URL ? `"${value.href}"` : describeValue(value);
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Loaders of TypeScript find `report.ts` where `report.js` is asked for. */
function isMissing(url: URL): boolean {
  // Without the right to look, the thread that imports the module finds out.
  if (globalThis.process?.permission !== undefined) return false;
  const { existsSync } = nodeModule("node:fs");
  const plain = new URL(url);
  plain.search = "";
  plain.hash = "";
  const typed = plain.href.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  const candidates = [plain.href, typed, typed.replace(/\.ts$/, ".tsx")];
  return !candidates.some((href) => existsSync(new URL(href)));
}
