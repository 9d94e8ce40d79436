import type { PlainError } from "@holdfast/core";
import type { ConnectionReady, StartResponse } from "@holdfast/protocol";
import type { WorkFrame } from "../machines/frame-subjects.ts";
import type { RequestWork } from "../shared/isolated-messages.ts";
import type { StallReport } from "../shared/stall.ts";
import type { SeenByClocks } from "./suspension-text.ts";

/** Of the connection to the gateway. */
export type LinkNews =
  | { readonly do: "LINK_UP"; readonly ready: ConnectionReady; readonly start: StartResponse }
  | { readonly do: "LINK_DOWN" }
  /** A frame about work, from the active connection; `bytes` is a view that is only good until the effect is carried out. */
  | { readonly do: "WORK_FRAME"; readonly frame: WorkFrame; readonly bytes: Uint8Array }
  | { readonly do: "LINK_STATE_CHANGED" }
  /** The gateway will not have this worker; trying again does not help. */
  | { readonly do: "LINK_REFUSED"; readonly error: PlainError };

/** Of requests. */
export type RequestEffect =
  /** Over the active connection, if there is one. */
  | { readonly do: "SEND"; readonly bytes: Uint8Array }
  /** Something in flight has ended. */
  | { readonly do: "REQUEST_ENDED" };

/** Of requests that pool threads have. */
export type IsolatedEffect =
  /** What main says of those that it has. */
  | { readonly do: "ISOLATED_WORK"; readonly message: RequestWork }
  /** No thread has it, or can get it: it goes back to the gateway. */
  | { readonly do: "ISOLATED_RETURNED"; readonly requestId: string };

/** What a main thread that is blocked, or responsive again, means for the rest of the thread. */
export type StallAction =
  /** No new work, or work again. */
  | { readonly do: "SET_ACCEPTING"; readonly accepting: boolean }
  | { readonly do: "GIVE_UP_LEASES" }
  | { readonly do: "RECLAIM_LEASES" }
  /** Also the report that says that a stall has ended; the gateway is to have it before what main says next. */
  | {
      readonly do: "SEND_STALL_REPORT";
      readonly report: StallReport;
      /** The same for the gateway. */
      readonly told: StallReport;
      readonly ended: boolean;
    }
  | { readonly do: "STALL_STATE_CHANGED" }
  /** Main is responsive again after a stall. */
  | { readonly do: "MAIN_RESPONSIVE" };

/**
 * What follows for the rest of the connection thread from what one of its parts has seen or done. The parts emit it; the
 * thread alone carries it out, at once and in the order in which it is emitted.
 */
export type ThreadEffect =
  | LinkNews
  | RequestEffect
  | IsolatedEffect
  | StallAction
  /** The thread, or all of its process, did nothing for so long. Emitted before anything that came meanwhile is read. */
  | ({ readonly do: "THREAD_SUSPENDED" } & SeenByClocks)
  /** Everything is closed; these requests' replies never got an acknowledgement. */
  | { readonly do: "CLOSED"; readonly undelivered: readonly string[] };

export type Emit<Effect> = (effect: Effect) => void;
