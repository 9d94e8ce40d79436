/**
 * Which files of a stack are Holdfast's: what package managers install, and the folder that this code itself runs from.
 * In an app that is bundled into one file the code cannot be told from the app's, and none of that file is taken for ours.
 */
import { type IsOwnFile, isInstalledHoldfast, stackFrames } from "@holdfast/core";
import { findNodeModule } from "./runtime.ts";

const PACKAGE = "holdfast";
/** Threads run a script that has no file. */
const THREAD_SCRIPTS = /^(?:\[worker eval\]|evalmachine\.<anonymous>)/;

export function isOwnFileBelow(folder: string | null): IsOwnFile {
  return (file) => {
    if (isInstalledHoldfast(file) || THREAD_SCRIPTS.test(file)) return true;
    return folder !== null && pathOf(file).startsWith(folder);
  };
}

/** The folder of the package's code, with a separator at its end; null: it is not run from a folder of its own. */
export function ownFolder(): string | null {
  found ??= { folder: findOwnFolder() };
  return found.folder;
}

let found: { readonly folder: string | null } | undefined;

function findOwnFolder(): string | null {
  const fs = findNodeModule("node:fs");
  const [frame = ""] = stackFrames(new Error("Where is this?").stack ?? "");
  const file = pathOf(/\(?((?:file:\/\/)?(?:\/|[a-zA-Z]:[\\/]).*?):\d+:\d+\)?$/.exec(frame)?.[1] ?? "");
  const parts = file.split(/(?<=[\\/])/);
  for (let count = parts.length - 1; count > 0 && fs !== undefined; count -= 1) {
    const folder = parts.slice(0, count).join("");
    const name = packageName(fs, `${folder}package.json`);
    if (name !== undefined) return name === PACKAGE ? parts.slice(0, count + 1).join("") : null;
  }
  return null;
}

type Files = NonNullable<ReturnType<typeof findNodeModule<"node:fs">>>;

function packageName(fs: Files, path: string): string | undefined {
  try {
    const { name } = JSON.parse(fs.readFileSync(path, "utf8")) as { readonly name?: unknown };
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}

function pathOf(file: string): string {
  if (!file.startsWith("file://")) return file;
  try {
    const path = decodeURIComponent(new URL(file).pathname);
    return /^\/[a-zA-Z]:\//.test(path) ? path.slice(1) : path;
  } catch {
    return file;
  }
}
