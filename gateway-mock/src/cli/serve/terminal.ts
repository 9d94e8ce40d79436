/** A stream of the process that may be a terminal, as a gateway's thread sees it. */
import type { LiveTerminal } from "../live/live-view.ts";

export interface TerminalFacts {
  readonly isTTY: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface Terminal extends TerminalFacts, LiveTerminal {
  write(text: string): void;
}
