/** Finds isolated code in a pool thread: evaluates its module, once a thread, and looks it up there. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { HoldfastError, messageOf, pathOfFile } from "@holdfast/core";
import { findIsolated } from "../../steps/isolated.ts";
import type { CodeReference } from "../shared/isolation-messages.ts";
import { importFault, isRefusedByRequire } from "./import-fault.ts";
import { runAsLoaded } from "./refused-servers.ts";
import { type ImportModule, registerTsx } from "./tsx-loader.ts";

export type Code = (...args: unknown[]) => unknown;

export interface CodeFinder {
  /** Code whose module this thread has evaluated. */
  known(code: CodeReference): Code | undefined;
  /** @throws HoldfastError `ISOLATE_MODULE_INVALID` */
  find(code: CodeReference): Promise<Code>;
  /**
   * Evaluates a module, once.
   * @throws HoldfastError `ISOLATE_CONNECT`, `ISOLATE_LISTEN`; what the module throws
   */
  readonly importModule: (module: string) => Promise<Readonly<Record<string, unknown>>>;
  /** A module could not be evaluated, or was refused. Runtimes remember that: in this thread it never can be used. */
  readonly isSpent: boolean;
  /** Code calls `connect()`. @throws HoldfastError `ISOLATE_CONNECT` */
  refuseConnect(): never;
  /** A module has done what it must not do here: it is not used, also where it has caught the error. */
  refuse(error: HoldfastError): void;
}

export function createCodeFinder(load: ImportModule): CodeFinder {
  const found = new Map<string, Code>();
  let refused: HoldfastError | undefined;
  let isSpent = false;
  const importModule: CodeFinder["importModule"] = async (module) => {
    try {
      const exported = await importOrRequire(load, module);
      // Also where its module does not await connect().
      if (refused) throw refused;
      return exported as Readonly<Record<string, unknown>>;
    } catch (error) {
      isSpent = true;
      throw error;
    }
  };
  const keyOf = ({ kind, module, name }: CodeReference): string => `${kind}\n${module}\n${name}`;
  return {
    get isSpent() {
      return isSpent;
    },
    importModule,
    known: (code) => found.get(keyOf(code)),
    find: async (code) => {
      const exported = await evaluate(importModule, code);
      const value = code.kind === "body" ? findIsolated(code.module, code.name) : exportOf(exported, code.name);
      if (typeof value !== "function") throw notFound(code, value);
      if (code.kind === "body") nameAnonymous(value, code.name);
      found.set(keyOf(code), value as Code);
      return value as Code;
    },
    refuseConnect: () => {
      refused = new HoldfastError(
        "ISOLATE_CONNECT",
        `connect() was called in a thread of the pool${whileEvaluated()}. Such a thread evaluates the module of isolated code and whatever that imports: move connect() into a module that it does not import, such as the app's entry. In a bundle both may be in one file, whatever the sources are: there, connect only \`if (!isPoolThread)\`, from "holdfast/isolate".`,
      );
      throw refused;
    },
    refuse: (error) => {
      // Later on there is code that has been found and works; what ends the thread then names the refusal.
      if (evaluated.length > 0) refused ??= error;
    },
  };
}

/** Stacks then have the name that its author gave it; the engine would guess one, such as that of an option beside it. */
function nameAnonymous(body: object, name: string): void {
  if ("name" in body && body.name === "") Reflect.defineProperty(body, "name", { value: name, configurable: true });
}

let registering: Promise<void> | undefined;
const evaluated: string[] = [];

/** While which module was evaluated, for messages; empty when none is. */
export function whileEvaluated(): string {
  const module = evaluated.at(-1);
  return module === undefined ? "" : `, while ${module} was evaluated`;
}

/** Loaders that only know require(), such as those of -r, teach import() nothing. */
async function importOrRequire(importModule: ImportModule, module: string): Promise<unknown> {
  registering ??= registerTsx(importModule);
  await registering;
  evaluated.push(module);
  try {
    return await runAsLoaded(module, () => importModule(module));
  } catch (raw) {
    const cause = importFault(module, raw);
    if (isExecutable(module)) {
      throw new HoldfastError(
        "ISOLATE_MODULE_INVALID",
        `The module of isolated code is the executable itself, ${module}, as \`__filename\` is in a single executable. No thread can evaluate that: bundle the module into a file beside the executable, and name that by path.join(path.dirname(process.execPath), ...).`,
        { cause },
      );
    }
    if ((raw as { code?: unknown } | null)?.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw cause;
    return required(module, cause);
  } finally {
    evaluated.splice(evaluated.indexOf(module), 1);
  }
}

function required(module: string, importCause: unknown): unknown {
  try {
    return runAsLoaded(module, () => createRequire(module)(fileURLToPath(module)) as unknown);
  } catch (raw) {
    // No loader of require() knew better: what import() said is the reason.
    throw isRefusedByRequire(raw) ? importCause : importFault(module, raw);
  }
}

async function evaluate(importModule: CodeFinder["importModule"], { module }: CodeReference): Promise<unknown> {
  try {
    return await importModule(module);
  } catch (cause) {
    if (HoldfastError.is(cause)) throw cause;
    throw new HoldfastError(
      "ISOLATE_MODULE_INVALID",
      `The module of isolated code could not be evaluated in a thread of the pool: ${pathOfFile(module)}: ${messageOf(cause)}`,
      { cause },
    );
  }
}

function isExecutable(module: string): boolean {
  return module.startsWith("file:") && fileURLToPath(module) === process.execPath;
}

function exportOf(module: unknown, name: string): unknown {
  const exports = module as Record<string, unknown> | null | undefined;
  const inside = exports?.default as Record<string, unknown> | null | undefined;
  // What a CommonJS module exports is the default, and not all of its names are found.
  return exports?.[name] ?? (name === "default" ? undefined : inside?.[name]);
}

function notFound({ kind, module, name }: CodeReference, value: unknown): HoldfastError {
  const problem =
    kind === "body"
      ? `The module ${module} was evaluated in a thread of the pool and did not call isolated() with the name "${name}". Call it at the top of the module, in every thread, and pass \`import.meta.url\` of that very module.`
      : `The module ${module} ${value === undefined ? "has no export" : "exports no function as"} "${name}".`;
  return new HoldfastError("ISOLATE_MODULE_INVALID", problem);
}
