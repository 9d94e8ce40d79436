/**
 * Imports the module of an isolated function and finds its handler there: in a pool thread, or, in tests of functions,
 * in this one. A plain handler takes everything else from the function that names it; a function made by `createFunction`
 * brings client and schemas along.
 */
import { describeValue, HoldfastError, messageOf } from "@holdfast/core";
import type { RetryPolicy } from "../steps/retry-policy.ts";
import type { AppClient } from "./app-client.ts";
import { definitionOf, type FunctionDefinition } from "./define-function.ts";
import type { FunctionConfig } from "./function-config.ts";
import type { IsolatedHandler } from "./isolate-option.ts";
import { type RegisteredFunction, schemaFor } from "./registry.ts";

/** What has to be known of an isolated function to load it elsewhere: plain data. */
export interface IsolatedFunction extends IsolatedHandler {
  readonly appId: string;
  readonly config: FunctionConfig;
  readonly retryPolicy: RetryPolicy;
  /** An event whose data a schema checks: only a function made by `createFunction` in the module can do that. */
  readonly schemaEvent?: string;
}

/** What a pool thread refuses to a module says all that there is to say. */
const REFUSALS: ReadonlySet<string> = new Set(["ISOLATE_CONNECT", "ISOLATE_LISTEN"]);

export type ImportModule = (href: string) => Promise<Readonly<Record<string, unknown>>>;

/** Undefined when the function runs where it was defined. A handler of failures always does. */
export function isolatedFunctionOf(fn: RegisteredFunction): IsolatedFunction | undefined {
  const { definition, isFailureHandler } = fn;
  const { appId, config, isolate, retryPolicy } = definition;
  if (isolate === undefined || isFailureHandler) return undefined;
  const names = config.triggers.flatMap(({ event }) => (event === undefined ? [] : [event]));
  const schemaEvent = names.find((name) => schemaFor(fn, name) !== undefined);
  return { ...isolate, appId, config, retryPolicy, ...(schemaEvent === undefined ? {} : { schemaEvent }) };
}

/**
 * The function with the handler that its module exports. `client` is that of plain handlers.
 * @throws HoldfastError `ISOLATE_MODULE_INVALID`, naming the function, the module and what is wrong with it
 */
export async function loadIsolated(
  fn: IsolatedFunction,
  client: AppClient,
  importModule: ImportModule = importHere,
): Promise<RegisteredFunction> {
  const { appId, config, retryPolicy } = fn;
  const exported = exportOf(fn, await imported(fn, importModule));
  const registered = (definition: FunctionDefinition): RegisteredFunction => ({
    client: definition.client,
    slug: config.id,
    definition,
    isFailureHandler: false,
  });
  const own = definitionOf(exported);
  if (own === undefined) {
    const handler = plainHandler(fn, exported);
    return registered({ appId, client, config, retryPolicy, queue: "", handler, schemas: new Map() });
  }
  if (own.isolate !== undefined) return invalid(fn, `its export \`${fn.exportName}\` is itself isolated`);
  if (own.appId !== appId || own.config.id !== config.id) {
    const problem = `its export \`${fn.exportName}\` is the function "${own.config.id}"; give both the same id and app`;
    return invalid(fn, problem);
  }
  return registered({ ...own, config, retryPolicy });
}

function plainHandler(fn: IsolatedFunction, exported: unknown): FunctionDefinition["handler"] {
  const { exportName, schemaEvent } = fn;
  if (typeof exported !== "function") return invalid(fn, `its export \`${exportName}\` is ${described(exported)}`);
  if (schemaEvent === undefined) return exported as FunctionDefinition["handler"];
  return invalid(
    fn,
    `the data of "${schemaEvent}" has a schema, which cannot be handed to a thread, and \`${exportName}\` is a plain handler. Export the function itself, made by createFunction({ id, triggers }, handler)`,
  );
}

async function imported(fn: IsolatedFunction, importModule: ImportModule): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await importModule(fn.module);
  } catch (cause) {
    if (HoldfastError.is(cause) && REFUSALS.has(cause.code)) throw cause;
    return invalid(fn, `it cannot be imported: ${messageOf(cause)}`, cause);
  }
}

/** CommonJS modules have their exports in `default`, too. */
function exportOf({ exportName }: IsolatedFunction, module: Readonly<Record<string, unknown>>): unknown {
  if (exportName in module) return module[exportName];
  const inner = module.default;
  return typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[exportName] : undefined;
}

function described(value: unknown): string {
  return value === undefined ? "missing" : `no function but ${describeValue(value)}`;
}

function invalid({ config, module }: IsolatedFunction, problem: string, cause?: unknown): never {
  throw new HoldfastError(
    "ISOLATE_MODULE_INVALID",
    `The module ${module} of the isolated function "${config.id}" cannot be used: ${problem}.`,
    { cause },
  );
}

/** In this thread, by Node's own loader: a bundler must leave the address alone. */
const importHere: ImportModule = (href) => import(/* webpackIgnore: true */ /* @vite-ignore */ href);
