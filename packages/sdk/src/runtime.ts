/**
 * What Holdfast needs of the runtime, and Node's modules, looked up when they are needed and not when the package is loaded:
 * so the package can be bundled for and loaded by any runtime, and `connect()` can say what is missing.
 */
import { HoldfastError } from "@holdfast/core";

interface NodeModules {
  readonly "node:async_hooks": typeof import("node:async_hooks");
  readonly "node:crypto": typeof import("node:crypto");
  readonly "node:diagnostics_channel": typeof import("node:diagnostics_channel");
  readonly "node:events": typeof import("node:events");
  readonly "node:fs": typeof import("node:fs");
  readonly "node:os": typeof import("node:os");
  readonly "node:v8": typeof import("node:v8");
  readonly "node:worker_threads": typeof import("node:worker_threads");
}

/** The parts of the global object that are looked at. All may be missing. */
export interface Runtime {
  readonly process?: {
    readonly versions?: Readonly<Record<string, string | undefined>>;
    readonly type?: string;
    readonly getBuiltinModule?: (name: string) => object | undefined;
    readonly permission?: { has(scope: string): boolean };
    readonly allowedNodeEnvironmentFlags?: ReadonlySet<string>;
  };
  readonly SharedArrayBuffer?: unknown;
  readonly fetch?: unknown;
  readonly window?: unknown;
  readonly importScripts?: unknown;
  readonly EdgeRuntime?: unknown;
  readonly navigator?: { readonly userAgent?: string };
}

/**
 * A module of Node.
 * @throws HoldfastError `RUNTIME_UNSUPPORTED` where there is none
 */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const runtime: Runtime = globalThis;
  const found = findNodeModule(name);
  if (found === undefined) throw unsupported(runtime, missingPart(runtime) ?? `It lacks ${name}.`);
  return found;
}

/** A module of Node that the runtime may lack. */
export function findNodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const runtime: Runtime = globalThis;
  return runtime.process?.getBuiltinModule?.(name) as NodeModules[Name] | undefined;
}

/**
 * Whether connections can be made here.
 * @throws HoldfastError `RUNTIME_UNSUPPORTED`, naming what is missing
 */
export function checkRuntime(runtime: Runtime = globalThis): void {
  const missing = missingPart(runtime);
  if (missing !== undefined) throw unsupported(runtime, missing);
}

function unsupported(runtime: Runtime, missing: string): HoldfastError {
  const message = `Holdfast cannot connect from ${describeRuntime(runtime)}. ${missing}`;
  return new HoldfastError("RUNTIME_UNSUPPORTED", message);
}

/** Global objects and modules without which nothing works. */
const PARTS: readonly [name: string, has: (runtime: Runtime) => boolean][] = [
  ["SharedArrayBuffer", (runtime) => runtime.SharedArrayBuffer !== undefined],
  ["fetch", (runtime) => typeof runtime.fetch === "function"],
  ["node:worker_threads", (runtime) => hasMember(runtime, "node:worker_threads", "Worker")],
  ["node:async_hooks", (runtime) => hasMember(runtime, "node:async_hooks", "AsyncLocalStorage")],
  ["node:crypto", (runtime) => hasMember(runtime, "node:crypto", "hash")],
  ["node:os", (runtime) => hasMember(runtime, "node:os", "availableParallelism")],
];

/** A sentence for the reader, or undefined when all is there. */
function missingPart(runtime: Runtime): string | undefined {
  const { process } = runtime;
  const { node, bun, deno } = process?.versions ?? {};
  if (node === undefined) {
    return "It needs threads (node:worker_threads): connect from a process of Node 20.19, 22.3 or newer. Events can be sent from here.";
  }
  if (process?.type === "renderer") {
    return "It needs threads (node:worker_threads), which renderer processes lack: connect from the main process or a utility process.";
  }
  if (bun === undefined && deno === undefined && !isNewEnough(node)) return "Use Node 20.19, 22.3 or newer.";
  const lacks = PARTS.find(([, has]) => !has(runtime));
  if (lacks !== undefined) return `It lacks ${lacks[0]}, or it is disabled. Use Node 20.19, 22.3 or newer.`;
  return missingPermission(process);
}

/** Node's permission model denies whatever was not granted. */
function missingPermission(process: Runtime["process"]): string | undefined {
  const permission = process?.permission;
  if (permission === undefined) return undefined;
  if (!permission.has("worker")) {
    return "Its permission model forbids threads: also start it with --allow-worker.";
  }
  // Older versions do not limit the network, and do not know the scope.
  if (process?.allowedNodeEnvironmentFlags?.has("--allow-net") && !permission.has("net")) {
    return "Its permission model forbids network access: also start it with --allow-net.";
  }
  return undefined;
}

function hasMember(runtime: Runtime, module: string, member: string): boolean {
  const found = runtime.process?.getBuiltinModule?.(module) as Record<string, unknown> | undefined;
  return typeof found?.[member] === "function";
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === 20) return minor >= 19;
  return major > 22 || (major === 22 && minor >= 3);
}

function describeRuntime(runtime: Runtime): string {
  const { process, navigator } = runtime;
  const { node, bun, deno, electron } = process?.versions ?? {};
  if (bun !== undefined) return `Bun ${bun}`;
  if (deno !== undefined) return `Deno ${deno}`;
  if (process?.type === "renderer") return "a renderer process of Electron";
  if (electron !== undefined) return `Electron ${electron} (Node ${node})`;
  if (node !== undefined) return `Node ${node}`;
  if (runtime.EdgeRuntime !== undefined || navigator?.userAgent === "Cloudflare-Workers") return "an edge runtime";
  if (runtime.window !== undefined) return "a browser";
  return runtime.importScripts === undefined ? "this runtime" : "a browser's worker";
}
