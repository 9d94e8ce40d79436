/**
 * `pnpm pack:check`: packs every published package, looks into the tarballs, installs them into throwaway projects and
 * uses them there as an app would: ESM, CommonJS, bundled into one file, TypeScript.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { clientSizeProblem, FORMATS, wideCharacterProblem } from "./loaded-size.mjs";
import { table } from "./matrix/table.mjs";
import { inspectPackage } from "./pack-inspect.mjs";
import { liveResults, writeLivePrograms } from "./pack-live.mjs";
import { checkTypes } from "./pack-types.mjs";
import { packAll, unpack } from "./packing.mjs";
import { endWithChildren, run, temporaryFolder } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { fail, inRoot, pnpmVersion } from "./workspace.mjs";

endWithChildren();
const { path: temp, remove } = temporaryFolder("holdfast-pack-");
const counts = { passed: 0, failed: 0 };
const toolBin = (/** @type {string} */ path) => inRoot(join("packages/tooling/node_modules", path));

/** @typedef {import("./packing.mjs").Packed} Packed */

/**
 * One check: `problem` is what is wrong, or empty.
 * @param {string} what
 * @param {string} problem
 */
function report(what, problem) {
  counts[problem === "" ? "passed" : "failed"] += 1;
  console.log(`${problem === "" ? "ok    " : "FAILED"} ${what}${problem === "" ? "" : `\n${problem.trimEnd()}\n`}`);
  return problem === "";
}

/**
 * One check: a program ends with 0.
 * @param {string} what
 * @param {string} command
 * @param {string[]} args
 * @param {import("./processes.mjs").RunOptions} [options]
 */
async function reportRun(what, command, args, options) {
  const result = await run(command, args, { output: "collect", timeoutMs: 180_000, ...options });
  const left = result.left.length > 0 ? `\nIt left processes behind: ${result.left.join("; ")}` : "";
  return report(what, result.code === 0 && left === "" ? "" : `${result.output}\n(exit code ${result.code})${left}`);
}

/** @param {Packed} packed */
async function inspect({ name, tarball }) {
  const unpacked = join(temp, "unpacked", name);
  await unpack(tarball, unpacked);
  for (const { what, problem } of inspectPackage(unpacked)) report(`${name}: ${what}`, problem);
  await reportRun(`${name}: publint`, process.execPath, [toolBin("publint/src/cli.js"), tarball, "--strict"]);
  const attw = [toolBin("@arethetypeswrong/cli/dist/index.js"), tarball, "--profile", "node16", "--no-emoji"];
  const untyped = name === "holdfast" ? ["--exclude-entrypoints", "./connect-thread"] : [];
  await reportRun(`${name}: types resolve from ESM and CommonJS`, process.execPath, [...attw, ...untyped]);
}

/**
 * Installs all tarballs into a new project.
 * @param {readonly Packed[]} all
 */
async function project(all) {
  const folder = join(temp, "app");
  mkdirSync(folder, { recursive: true });
  const files = Object.fromEntries(all.map(({ name, tarball }) => [name, `file:${tarball}`]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "app", private: true, dependencies: files }));
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--no-package-lock", "--loglevel=error"];
  const installed = await reportRun("the tarballs install with npm", "npm", args, { cwd: folder });
  return installed ? folder : undefined;
}

/**
 * With pnpm a package sees what it depends on, and nothing else; and where one of them has a build script that the user
 * has not allowed, the installation ends with another code than 0.
 * @param {readonly Packed[]} all
 */
async function projectOfPnpm(all) {
  const folder = join(temp, "app-of-pnpm");
  mkdirSync(folder, { recursive: true });
  const files = Object.fromEntries(all.map(({ name, tarball }) => [name, `file:${tarball}`]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "app", private: true, dependencies: files }));
  // A project by itself, also where the temporary folder is in a workspace.
  writeFileSync(join(folder, "pnpm-workspace.yaml"), "strictDepBuilds: true\n");
  const args = ["-y", `pnpm@${pnpmVersion}`, "install", "--prefer-offline"];
  if (!(await reportRun("the tarballs install with pnpm", "npx", args, { cwd: folder }))) return;
  const entries = all.flatMap((packed) => packed.entries);
  const script = `for (const entry of ${JSON.stringify(entries)}) await import(entry);`;
  const load = ["--input-type=module", "--eval", script];
  await reportRun("every entry loads where pnpm has installed it", process.execPath, load, { cwd: folder });
}

/**
 * @param {string} folder
 * @param {readonly Packed[]} all
 */
async function use(folder, all) {
  const entries = all.flatMap((packed) => packed.entries);
  const list = JSON.stringify(entries);
  const names =
    "Object.keys(m).filter((k) => k !== 'default' && k !== 'module.exports' && k !== '__esModule').sort().join()";
  writeFileSync(
    join(folder, "esm.mjs"),
    `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
for (const entry of ${list}) {
  const names = (m) => ${names};
  const esm = names(await import(entry));
  const cjs = names(require(entry));
  if (esm === "" || esm !== cjs) throw new Error(entry + " exports " + esm + " to ESM and " + cjs + " to CommonJS");
}
`,
  );
  writeFileSync(join(folder, "cjs.cjs"), `for (const entry of ${list}) require(entry);\n`);
  await reportRun("every entry loads from ESM, with the names of CommonJS", process.execPath, ["esm.mjs"], {
    cwd: folder,
  });
  await reportRun("every entry loads from CommonJS", process.execPath, ["cjs.cjs"], { cwd: folder });
  checkClientSize(folder);
  report("sdk.js is Latin-1", wideCharacterProblem(join(folder, "node_modules/holdfast/dist/sdk.js")));
  await useLive(folder);
  for (const { what, problem } of await checkTypes(folder, entries)) report(what, problem);
  for (const { name, bins, version } of all) {
    for (const bin of bins) {
      const command = join(folder, "node_modules", ".bin", bin);
      const { code, output } = await run(command, ["--version"], { cwd: folder, output: "collect", timeoutMs: 60_000 });
      const right = code === 0 && output.includes(version);
      report(`${name}: ${bin} --version`, right ? "" : `${output}\n(exit code ${code}; expected version ${version})`);
    }
  }
}

/** @param {string} folder */
function checkClientSize(folder) {
  for (const format of FORMATS) {
    report(`holdfast/client is small as ${format}`, clientSizeProblem("holdfast/client", format, folder));
  }
}

/**
 * How much people download and load.
 * @param {readonly Packed[]} all
 */
function showSizes(all) {
  const cell = (/** @type {string} */ row, /** @type {string} */ column, /** @type {number} */ bytes) => ({
    row,
    column,
    text: `${Math.round(bytes / 1024)} KiB`,
  });
  const tarballs = all.map(({ name, tarball }) => cell(`${name}, tarball`, "compressed", statSync(tarball).size));
  const scripts = all.flatMap(({ name }) => {
    const dist = join(temp, "unpacked", name, "dist");
    return ["index.js", "sdk.js", "client.js", "isolate.js", "operate.js", "testing.js", "connect-thread.cjs"].flatMap(
      (file) => {
        if (!existsSync(join(dist, file))) return [];
        const text = readFileSync(join(dist, file));
        const row = `${name}, ${file}`;
        return [cell(row, "compressed", gzipSync(text).length), cell(row, "plain", text.length)];
      },
    );
  });
  console.log(`\n${table("size", [...tarballs, ...scripts])}\n`);
}

/**
 * An app runs on a gateway, both as npm installed them from the tarballs: as ESM and CommonJS. What else there is, `test:bundles` tries.
 * @param {string} folder
 */
async function useLive(folder) {
  writeLivePrograms(folder);
  const apps = [join(folder, "app.mjs"), join(folder, "app.cjs")];
  const args = ["app.mjs", "--format=cjs", "--outfile=app.cjs", "--log-level=warning"];
  await reportRun("an app is written as CommonJS", toolBin("esbuild/bin/esbuild"), args, { cwd: folder });
  const { code, output, left } = await run(process.execPath, ["drive.mjs", ...apps], {
    cwd: folder,
    output: "collect",
    timeoutMs: 300_000,
  });
  const results = liveResults(output);
  report("a packed gateway starts and ends", code === 0 && left.length === 0 ? "" : `${output}\n${left.join("\n")}`);
  for (const app of apps)
    report(`the app runs: ${relative(temp, app)}`, results === undefined ? "it was not run" : (results[app] ?? ""));
  for (const [route, problem] of Object.entries(results ?? {}).filter(
    ([key]) => key.startsWith("/") && !apps.includes(key),
  ))
    report(`the packed gateway answers ${route}`, problem);
}

try {
  await setup();
  const all = await packAll(temp);
  for (const packed of all) await inspect(packed);
  showSizes(all);
  const app = await project(all);
  if (app !== undefined) await use(app, all);
  await projectOfPnpm(all);
} catch (error) {
  counts.failed += 1;
  fail(error);
} finally {
  remove();
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
if (counts.failed > 0) process.exitCode = 1;
