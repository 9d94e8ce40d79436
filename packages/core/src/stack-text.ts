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
/** Of what is built in and has no name. */
const NATIVE = /^\s*at native$/;

export const isInstalledHoldfast: IsOwnFile = (file) => INSTALLED.test(file);

/** Threads run a script that has no file. */
const THREAD_SCRIPTS = /^(?:\[worker eval\]|evalmachine\.<anonymous>|holdfast-(?:connection|pool)-thread\.cjs)/;

/** What is installed, and what is below a folder of ours; null: there is none. */
export function isOwnFileBelow(folder: string | null): IsOwnFile {
  return (file) => {
    if (isInstalledHoldfast(file) || THREAD_SCRIPTS.test(file)) return true;
    return folder !== null && pathOfFile(file).startsWith(folder);
  };
}

/** A file as a path; what is no URL of a file stays as it is. */
export function pathOfFile(file: string): string {
  if (!file.startsWith("file://")) return file;
  try {
    const path = decodeURIComponent(new URL(file).pathname);
    return /^\/[a-zA-Z]:\//.test(path) ? path.slice(1) : path;
  } catch {
    return file;
  }
}

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
  const kinds = frames.map((frame) => (NATIVE.test(frame) ? "node" : kindOf(PLACE.exec(frame)?.[1] ?? "", isOwn)));
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
