/**
 * `npm run api:report` writes what each published package lets users see, as text that a review can read:
 * `etc/NAME.api.md` beside its package.json. With `--check` it says what has changed since it was written.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { build } from "./build.mjs";
import { endWithChildren, temporaryFolder } from "./processes.mjs";
import { fail, inRoot, isProgram, publishedPackages, root } from "./workspace.mjs";

/**
 * @typedef {object} Report
 * @property {string} entry such as `holdfast/connect`
 * @property {string} file relative to the root
 * @property {string} text
 */

/**
 * @param {string} folder of a package in the workspace, built
 * @param {string} temp
 * @returns {Report[]}
 */
function reportsOf(folder, temp) {
  const manifest = JSON.parse(readFileSync(inRoot(join(folder, "package.json")), "utf8"));
  const typed = Object.entries(manifest.exports).flatMap(([path, target]) => {
    const types = /** @type {{ import?: { types?: string } }} */ (target).import?.types;
    return types === undefined ? [] : [{ path, types }];
  });
  return typed.map(({ path, types }) => {
    const entry = join(manifest.name, path);
    const name = `${entry.replace("@", "").replaceAll("/", "-")}.api.md`;
    // What the main entry has is not listed twice.
    extract({ folder: inRoot(folder), types, name, temp, all: path === "." });
    return { entry, file: join(folder, "etc", name), text: readFileSync(join(temp, name), "utf8") };
  });
}

/** @param {{ folder: string, types: string, name: string, temp: string, all: boolean }} what */
function extract({ folder, types, name, temp, all }) {
  const file = join(folder, types);
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023"],
    module: "nodenext",
    moduleResolution: "nodenext",
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  const silent = { default: { logLevel: /** @type {any} */ ("none") } };
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, "package.json"),
    configObject: {
      projectFolder: folder,
      newlineKind: "lf",
      mainEntryPointFilePath: file,
      compiler: { overrideTsconfig: { compilerOptions, files: [file] } },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: temp,
        reportTempFolder: join(temp, "work"),
        includeForgottenExports: all,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent },
    },
  });
  /** @type {string[]} */
  const problems = [];
  const { errorCount } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true;
      if (message.logLevel === "error") problems.push(message.text);
    },
  });
  if (errorCount > 0) throw new Error(`${file} could not be read.\n${problems.join("\n")}`);
}

/**
 * Lines that are only in one of two texts, for people.
 * @param {string} before
 * @param {string} after
 */
export function changedLines(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [oldSet, nowSet] = [new Set(old), new Set(now)];
  return [
    ...old.filter((line) => !nowSet.has(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !oldSet.has(line)).map((line) => `+ ${line}`),
  ];
}

/**
 * @param {Report} report
 * @param {string | undefined} written
 * @returns {string} what is wrong
 */
export function compare({ entry, file, text }, written) {
  if (written === text) return "";
  const lines = written === undefined ? ["it has not been written yet"] : changedLines(written, text);
  const shown = lines.length === 0 ? ["only the order of lines"] : lines.slice(0, 60);
  const more = lines.length > 60 ? [`... ${lines.length - 60} more lines`] : [];
  return [
    `What users see of ${entry} has changed since ${file} was written:`,
    ...[...shown, ...more].map((line) => `  ${line}`),
    "If that is meant, run `npm run api:report`, commit the file, and tell users (see CONTRIBUTING.md).",
  ].join("\n");
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  const { path: temp, remove } = temporaryFolder("holdfast-api-");
  try {
    await build();
    const reports = publishedPackages.flatMap((folder) => reportsOf(folder, temp));
    const check = process.argv.includes("--check");
    for (const report of reports) {
      const file = inRoot(report.file);
      const problem = compare(report, existsSync(file) ? readFileSync(file, "utf8") : undefined);
      if (problem === "") continue;
      if (check) {
        fail(problem);
        continue;
      }
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, report.text);
      console.log(`${report.file} is written.`);
    }
  } catch (error) {
    fail(error);
  } finally {
    remove();
  }
}
