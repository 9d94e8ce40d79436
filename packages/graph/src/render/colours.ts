/** The colours of states. */
import type { NodeStatusKind } from "../status/graph-status.ts";

export interface Colour {
  readonly fill: string;
  readonly line: string;
}

export const PLAIN: Colour = { fill: "#ffffff", line: "#5b6472" };

export const COLOURS: Readonly<Record<NodeStatusKind, Colour>> = {
  waiting: { fill: "#f4f5f7", line: "#9aa3af" },
  ready: { fill: "#fff7e0", line: "#c99700" },
  running: { fill: "#e0f0ff", line: "#1769c2" },
  done: { fill: "#e4f6e8", line: "#2c8a47" },
  failed: { fill: "#fde6e6", line: "#c22f2f" },
  skipped: { fill: "#fafafa", line: "#c9ced6" },
  dead: { fill: "#eeeeee", line: "#8a8f98" },
};
