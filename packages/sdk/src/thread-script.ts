/**
 * The connection thread's script: one self-contained CommonJS text with everything it needs inside, so that it can be
 * started from any place, also from an app that is bundled into one file.
 *
 * This module runs from source only (tests, `tsx`): it bundles `connect-thread.ts` on the fly. The build replaces it
 * by one that carries the finished text; see `tsup.config.ts`.
 */
import { fileURLToPath } from "node:url";
import type { Metafile } from "esbuild";

export interface ThreadBundle {
  readonly script: string;
  /** What went into the script, for the notices of the published package. */
  readonly metafile: Metafile;
}

let loading: Promise<string> | undefined;

/** The script's text. It is made once a process. */
export function loadThreadScript(): Promise<string> {
  loading ??= bundleThreadScript().then((bundle) => bundle.script);
  return loading;
}

/** Bundles `entry` (default: `connect-thread.ts` beside this file) into one CommonJS text. */
export async function bundleThreadScript(
  entry = fileURLToPath(new URL("./connect-thread.ts", import.meta.url)),
): Promise<ThreadBundle> {
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
      "process.env.WS_NO_BUFFER_UTIL": '"1"',
      "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
    },
  });
  const output = result.outputFiles[0];
  if (output === undefined) throw new Error(`Bundling ${entry} produced no output.`);
  return { script: output.text, metafile: result.metafile };
}
