/** Collects the licences of the packages that a bundle contains, for its NOTICES file. */
import { mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Metafile, Plugin } from "esbuild";

export interface Notices {
  /** Adds the packages that went into another bundle, which this one carries. */
  collect(metafile: Metafile): void;
  /** Adds packages by their folders: what another bundler put into the package. */
  add(folders: readonly string[]): void;
  /** Writes `dist/THIRD-PARTY-NOTICES.txt` when the bundle is done. */
  plugin: Plugin;
}

/** Collects the licences of the packages bundled into the package at `packageDir`. */
export function notices(packageDir: string): Notices {
  const folders = new Set<string>();
  const collect = (metafile: Metafile): void => {
    // What was read and left out again is not in the package.
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
    for (const [input, { bytesInOutput }] of inputs) {
      const folder = bytesInOutput > 0 ? packageFolder(input) : undefined;
      if (folder !== undefined) folders.add(resolve(packageDir, folder));
    }
  };
  return {
    collect,
    add: (more) => {
      for (const folder of more) folders.add(folder);
    },
    plugin: {
      name: "third-party-notices",
      setup(build) {
        build.initialOptions.metafile = true;
        build.onEnd(async (result) => {
          if (result.metafile === undefined) return;
          collect(result.metafile);
          await mkdir(join(packageDir, "dist"), { recursive: true });
          await writeFile(join(packageDir, "dist", "THIRD-PARTY-NOTICES.txt"), await noticesText([...folders]));
        });
      },
    },
  };
}

/** The folder of the installed package that a bundled file belongs to; undefined for the workspace's own files. */
export function packageFolder(input: string): string | undefined {
  return /^(.*\/)?node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(input.replaceAll("\\", "/"))?.[0];
}

export async function noticesText(folders: readonly string[]): Promise<string> {
  const seen = new Map<string, string>();
  for (const folder of folders) {
    const manifest: { name: string; version: string; license?: string } = JSON.parse(
      await readFile(join(await realpath(folder), "package.json"), "utf8"),
    );
    const name = `${manifest.name} ${manifest.version}`;
    const licence = await licenceText(folder);
    if (licence === undefined && manifest.license === undefined) {
      throw new Error(`${name} is bundled but states no licence.`);
    }
    seen.set(name, [name, `Licence: ${manifest.license ?? "see below"}`, "", licence?.trim() ?? ""].join("\n").trim());
  }
  const sections = [...seen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  const head = "This package contains the following third-party software.";
  return `${[head, ...sections].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function licenceText(folder: string): Promise<string | undefined> {
  const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
  return file === undefined ? undefined : readFile(join(folder, file), "utf8");
}
