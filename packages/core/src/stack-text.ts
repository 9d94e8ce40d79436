/**
 * Stacks as people read them: frames of Holdfast and of Node's inside are folded into a line that counts them. What is
 * stored of an error stays whole; this is for logs, reports and the command line.
 */

/** Says whether a file, or a script's address as the engine has it, is part of Holdfast. */
export type IsOwnFile = (file: string) => boolean;

/** Installed by any package manager; also as a source map names it. */
const INSTALLED = /[\\/]node_modules[\\/](?:holdfast|@holdfast[\\/][a-z-]+)[\\/]/;
const FRAME = /^\s+at /;
/** `at name (file:1:2)`, `at file:1:2`, `at async name (file:1:2)`. */
const PLACE = /(?:\(|at (?:async )?)((?:[a-z]+:\/\/)?[^()]*?)(?::\d+){1,2}\)?$/;

export const isInstalledHoldfast: IsOwnFile = (file) => INSTALLED.test(file);

/** Node's own code that no app calls by name: the way into an app, timers, the event loop. */
export function isNodeInternal(file: string): boolean {
  return /^(?:node:)?internal\/|^node:(?:async_hooks|diagnostics_channel)$/.test(file);
}

/** The frames of a stack, without the error's name and message; empty where it has none. */
export function stackFrames(stack: string): readonly string[] {
  return stack.split("\n").filter((line) => FRAME.test(line));
}

/**
 * Frames with those of Holdfast and of Node's inside folded, each as `at ...`; a stack that has no others stays as it is,
 * since there is nothing else to see.
 */
export function foldFrames(frames: readonly string[], isOwn: IsOwnFile = isInstalledHoldfast): readonly string[] {
  const kinds = frames.map((frame) => kindOf(PLACE.exec(frame)?.[1] ?? "", isOwn));
  if (kinds.every((kind) => kind !== "app")) return frames.map((frame) => frame.trim());
  const lines: string[] = [];
  let folded: ("holdfast" | "node")[] = [];
  const flush = (): void => {
    if (folded.length > 0) lines.push(foldedText(folded));
    folded = [];
  };
  for (const [index, kind] of kinds.entries()) {
    if (kind !== "app") {
      folded.push(kind);
      continue;
    }
    flush();
    lines.push((frames[index] ?? "").trim());
  }
  flush();
  return lines;
}

function kindOf(file: string, isOwn: IsOwnFile): "holdfast" | "node" | "app" {
  if (isNodeInternal(file)) return "node";
  return isOwn(file) || isInstalledHoldfast(file) ? "holdfast" : "app";
}

function foldedText(kinds: readonly ("holdfast" | "node")[]): string {
  const whose = kinds.includes("holdfast") ? (kinds.includes("node") ? "holdfast and Node" : "holdfast") : "Node";
  return `… ${kinds.length} ${kinds.length === 1 ? "frame" : "frames"} of ${whose}`;
}
