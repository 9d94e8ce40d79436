/** What the process of `dev` and `start`, and the thread that its gateway runs in, say to each other. */
import type { TerminalFacts } from "./terminal.ts";

export const STREAMS = ["stdout", "stderr"] as const;
export type StreamName = (typeof STREAMS)[number];

/** What the thread is started with. */
export interface ThreadData {
  /** The file that was started, as the user named it. */
  readonly script: string;
  readonly terminals: Readonly<Record<StreamName, TerminalFacts>>;
  /** One number: characters on their way to the process, so that the thread waits for a reader that is slow. */
  readonly unwritten: Int32Array<SharedArrayBuffer>;
}

export type ToThread =
  /** A signal, or the end of the parent process. */
  { readonly type: "stop" } | { readonly type: "resize"; readonly stream: StreamName; readonly facts: TerminalFacts };

export interface FromThread {
  readonly type: "write";
  readonly stream: StreamName;
  readonly text: string;
}
