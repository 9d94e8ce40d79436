/**
 * `npm run release:address https://git.example.org/holdfast`: writes where the project is into every published package
 * (`repository`, `homepage`, `bugs`). With `--check` it refuses the folder it runs in if that was not done: each package
 * asks so before it is published. Plain Node: it runs when a package is published.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { fail, isProgram, publishedPackages, root } from "./workspace.mjs";

const USAGE = "Give the address of the project: npm run release:address https://git.example.org/holdfast";

/**
 * @param {string} text the project's page, from which the repository can be cloned too
 * @param {string} folder of the workspace
 * @returns {string[]} the packages
 */
export function writeAddress(text, folder = root) {
  if (!URL.canParse(text) || new URL(text).protocol !== "https:")
    throw new Error(`${text} is no https address. ${USAGE}`);
  const page = text.replace(/(\.git)?\/*$/, "");
  const published = publishedPackages.filter((name) => existsSync(join(folder, name, "package.json")));
  for (const directory of published) {
    const file = join(folder, directory, "package.json");
    const { license, author, repository: _, homepage: _home, bugs: _bugs, ...rest } = readJson(file);
    const about = {
      homepage: `${page}#readme`,
      bugs: { url: `${page}/issues` },
      repository: { type: "git", url: `git+${page}.git`, directory },
    };
    // Behind the author, where package managers show them.
    const fields = Object.entries(rest);
    const at = fields.findIndex(([name]) => name === "engines");
    fields.splice(at, 0, ["author", author], ...Object.entries(about));
    const entries = fields.flatMap((entry) => (entry[0] === "type" ? [["license", license], entry] : [entry]));
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
  return published;
}

/**
 * What keeps a package from being published; "" = nothing.
 * @param {string} folder of the package
 * @param {string} [workspace]
 */
export function addressProblem(folder, workspace = root) {
  const { name, repository, homepage, bugs, author } = readJson(join(folder, "package.json"));
  const missing = Object.entries({ repository: repository?.url, homepage, bugs: bugs?.url, author }).flatMap(
    ([field, value]) => (typeof value === "string" && value !== "" ? [] : [field]),
  );
  if (missing.length > 0) return `${name} cannot be published without ${missing.join(", ")}. ${USAGE}`;
  const directory = relative(workspace, folder).split(sep).join("/");
  return repository.directory === directory ? "" : `${name}: \`repository.directory\` must be ${directory}. ${USAGE}`;
}

/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));

if (isProgram(import.meta.url)) {
  try {
    const [argument = ""] = process.argv.slice(2);
    if (argument === "--check") {
      const problem = addressProblem(resolve("."));
      if (problem !== "") throw new Error(problem);
    } else console.log(writeAddress(argument).join("\n"));
  } catch (error) {
    fail(error);
  }
}
