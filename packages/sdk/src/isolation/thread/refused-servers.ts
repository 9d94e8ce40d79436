/**
 * Modules that start a server when they are loaded: an app in one file does, and a pool thread loads that file, too. It
 * would take the port from main, or fail for its sake, or serve on another one unnoticed. So code that belongs to the
 * loading of a module, also later on, may not listen on a port; isolated code itself may.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Server } from "node:net";
import { HoldfastError, pathOfFile } from "@holdfast/core";
import { currentExecution } from "../../execution/current.ts";

/** The module by whose loading the running code came about. */
const loading = new AsyncLocalStorage<string>();
let last: HoldfastError | undefined;

export function runAsLoaded<T>(module: string, load: () => T): T {
  return loading.run(module, load);
}

/** `onRefused`: the error is to be reported also where the module catches it. */
export function refuseServers(onRefused: (error: HoldfastError) => void): void {
  const proto: { listen: (this: Server, ...args: never[]) => Server } = Server.prototype;
  const { listen } = proto;
  proto.listen = function (...args) {
    const module = currentExecution() === undefined ? loading.getStore() : undefined;
    const port = module === undefined ? null : portOf(args);
    if (module === undefined || port === null) return listen.apply(this, args);
    last = refusal(module, port);
    onRefused(last);
    throw last;
  };
}

/** What a thread says of its end, with the refusal that has led to it; without a full stop. */
export function withRefusal(message: string): string {
  const refused = last?.message.replace(/\.$/, "");
  return refused === undefined || message.includes(refused) ? message : `${message}, after this: ${refused}`;
}

function refusal(module: string, port: unknown): HoldfastError {
  return new HoldfastError(
    "ISOLATE_LISTEN",
    `The module ${pathOfFile(module)} starts a server when it is loaded, on port ${port}, and a thread of the pool loads it, too. Start the server only \`if (!isPoolThread)\`, from "holdfast/isolate", or move isolated code into a module that does not lead to the server. Where the build appends the server, that module has to be a file or an entry of its own.`,
  );
}

/** Of the arguments of `listen()`, as Node reads them; null = a pipe, or what listens already. */
function portOf([first]: readonly unknown[]): unknown {
  if (typeof first === "string") return Number(first) >= 0 ? first : null;
  if (typeof first === "number") return first;
  if (typeof first !== "object" || first === null) return 0;
  const options = first as Readonly<Record<string, unknown>>;
  if ((options._handle ?? options.handle ?? options.fd) !== undefined || !("port" in options)) return null;
  return options.port ?? 0;
}
