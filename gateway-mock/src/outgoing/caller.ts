/** The HTTP calls of steps, with their client loaded when there is the first one: few gateways make any. */
import type { DispatcherOptions } from "../dispatch/index.ts";
import type { Caller, CallSettings } from "./call.ts";

export interface LazyCaller {
  readonly call: DispatcherOptions["call"];
  /** Ends the connections, and the calls that are under way. */
  close(): Promise<void>;
}

export function createCaller(settings: Pick<CallSettings, "allowInner">): LazyCaller {
  let loading: Promise<Caller> | null = null;
  const load = async (): Promise<Caller> => {
    const { CALL_LIMITS, Caller } = await import("./call.ts");
    return new Caller({ ...CALL_LIMITS, ...settings });
  };
  return {
    async call(what, signal) {
      loading ??= load();
      return (await loading).call(what, signal);
    },
    async close() {
      await (await loading)?.close();
    },
  };
}
