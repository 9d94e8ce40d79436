/**
 * The folder that this code itself runs from, whose files are Holdfast's in a stack. In an app that is bundled into one file
 * the code cannot be told from the app's, and none of that file is taken for ours.
 */
import { pathOfFile, stackFrames } from "@holdfast/core";
import { findNodeModule } from "./runtime.ts";

const PACKAGE = "holdfast";
/** The folder of the package's code, with a separator at its end; null: it is not run from a folder of its own. */
export function ownFolder(): string | null {
  found ??= { folder: findOwnFolder() };
  return found.folder;
}

let found: { readonly folder: string | null } | undefined;

function findOwnFolder(): string | null {
  const fs = findNodeModule("node:fs");
  const [frame = ""] = stackFrames(new Error("Where is this?").stack ?? "");
  const file = pathOfFile(/\(?((?:file:\/\/)?(?:\/|[a-zA-Z]:[\\/]).*?):\d+:\d+\)?$/.exec(frame)?.[1] ?? "");
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
