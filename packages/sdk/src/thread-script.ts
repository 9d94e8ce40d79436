/**
 * The scripts of the connection thread and of the pool's threads: each one self-contained CommonJS text with everything it needs inside, so that it can be
 * started from any place, also from an app that is bundled into one file.
 *
 * This module runs from source only (tests, `tsx`): it bundles `connect-thread.ts` and `isolate-thread.ts` on the fly.
 * The build replaces it by one that carries the finished texts; see `tsup.config.ts`.
 */
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";

export interface ThreadBundle {
  readonly script: string;
  /** What went into the script, for the notices of the published package. */
  readonly metafile: Metafile;
}

/** The sources of both scripts. */
export const SCRIPT_ENTRIES = { connection: "connect-thread.ts", pool: "isolate-thread.ts" } as const;

const loading = new Map<string, Promise<string>>();

function load(entry: string): Promise<string> {
  const known = loading.get(entry);
  if (known) return known;
  const script = bundleThreadScript(sourceOf(entry)).then((bundle) => bundle.script);
  loading.set(entry, script);
  return script;
}

const sourceOf = (entry: string): string => fileURLToPath(new URL(`./${entry}`, import.meta.url));

/** The connection thread's script. It is made once a process. */
export function loadThreadScript(): Promise<string> {
  return load(SCRIPT_ENTRIES.connection);
}

/** The script of a pool thread. It is made once a process. */
export function loadPoolScript(): Promise<string> {
  return load(SCRIPT_ENTRIES.pool);
}

/** Bundles `entry` (default: `connect-thread.ts` beside this file) into one CommonJS text. */
export async function bundleThreadScript(entry = sourceOf(SCRIPT_ENTRIES.connection)): Promise<ThreadBundle> {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    legalComments: "none",
    // Every thread reads it anew. Identifiers stay, so that stacks name the functions, and lines are short enough to point at.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 200,
    logLevel: "silent",
    define: {
      // Nothing inside may look like AMD to a bundler that is given the script as a file.
      define: "undefined",
      // ws looks for native helpers unless configured not to; the script must not load anything from the app's folder.
      "process.env.WS_NO_BUFFER_UTIL": '""',
      "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
    },
    alias: { bufferutil: fileURLToPath(new URL("../../protocol/src/word-mask.ts", import.meta.url)) },
  });
  const output = result.outputFiles[0];
  if (output === undefined) throw new Error(`Bundling ${entry} produced no output.`);
  return { script: output.text, metafile: result.metafile };
}
