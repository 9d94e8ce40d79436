/** `pnpm build`: builds every published package whose sources have changed since its last build. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endWithChildren, run } from "./processes.mjs";
import { cacheDir, digest, fail, filesBelow, inRoot, isProgram, publishedPackages, tool } from "./workspace.mjs";

/** What any package's build may read beside its own folder. */
const shared = [
  "pnpm-lock.yaml",
  "tsconfig.json",
  "LICENSE",
  "packages/core/src",
  "packages/store/src",
  "packages/store/package.json",
  "packages/engine/src",
  "packages/engine/package.json",
  "packages/core/package.json",
  "packages/protocol/src",
  "packages/protocol/package.json",
  "packages/postgres-server/src",
  "packages/postgres-server/package.json",
  "packages/graph/src/definition.ts",
  "packages/graph/src/definition",
  "packages/graph/src/interpret",
  "packages/graph/src/render.ts",
  "packages/graph/src/render",
  "packages/graph/src/status",
  "packages/graph/src/templates",
  "packages/tooling/src/build.mjs",
  "packages/tooling/src/notices.ts",
  "packages/tooling/src/tsup-base.ts",
];

export async function build() {
  const release = await lock(join(cacheDir, "build.lock"));
  try {
    const stale = publishedPackages.filter((folder) => readStamp(folder) !== currentStamp(folder));
    if (stale.length === 0) return;
    console.log(`Building ${stale.join(", ")} ...`);
    const waiting = [...stale];
    /** @type {string[]} */
    const failures = [];
    const lanes = [1, 2].map(async () => {
      for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
        const failure = await buildPackage(folder);
        if (failure !== undefined) failures.push(failure);
      }
    });
    await Promise.all(lanes);
    if (failures.length > 0) throw new Error(failures.join("\n"));
  } finally {
    release();
  }
}

/**
 * Builds one package; the result says why it could not be built.
 * @param {string} folder
 */
async function buildPackage(folder) {
  const sources = sourceDigest(folder);
  rmSync(stampFile(folder), { force: true });
  for (const { args, cwd } of steps(folder)) {
    const result = await run(process.execPath, args, { cwd: inRoot(cwd), output: "collect" });
    if (result.code !== 0) return `${cwd} could not be built.\n${result.output.trimEnd()}`;
  }
  writeFileSync(stampFile(folder), `${sources}\n${outputs(folder)}`);
  return undefined;
}

/**
 * What builds a package. The gateway's page comes first: the gateway's own build takes it in.
 * @param {string} folder
 */
function steps(folder) {
  const page = { args: [tool("vite/bin/vite.js"), "build", "--logLevel", "warn"], cwd: "gateway-mock/dashboard" };
  const own = { args: [tool("tsup/dist/cli-default.js"), "--silent"], cwd: folder };
  return folder === "gateway-mock" ? [page, own] : [own];
}

/** @param {string} folder */
const stampFile = (folder) => join(cacheDir, `built-${folder.replaceAll("/", "-")}`);

/** @param {string} folder */
const readStamp = (folder) => (existsSync(stampFile(folder)) ? readFileSync(stampFile(folder), "utf8") : "");

/** @param {string} folder */
const currentStamp = (folder) => `${sourceDigest(folder)}\n${outputs(folder)}`;

/** @param {string} folder */
function sourceDigest(folder) {
  const own = ["src", "migrations", "dashboard", "package.json", "tsup.config.ts"].map((name) => `${folder}/${name}`);
  return digest(filesBelow([...shared, ...own]), [process.versions.node]);
}

/**
 * Names, sizes and times of what a build wrote: a build result that was deleted or changed is built again.
 * @param {string} folder
 */
function outputs(folder) {
  const dist = inRoot(join(folder, "dist"));
  if (!existsSync(dist)) return "";
  return readdirSync(dist, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(dist, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .join("\n");
}

/**
 * One build at a time in a checkout; the lock of a process that is gone does not count.
 * @param {string} file
 * @returns {Promise<() => void>} releases the lock
 */
async function lock(file) {
  mkdirSync(cacheDir, { recursive: true });
  for (let said = false; ; ) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    if (!holderLives(file)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!said) console.log("Another build is under way in this checkout; waiting for it ...");
    said = true;
    await sleep(200);
  }
}

/** @param {string} file */
function holderLives(file) {
  try {
    process.kill(Number(readFileSync(file, "utf8")) || process.pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    await build();
  } catch (error) {
    fail(error);
  }
}
