/** The declarations of the packages, as the compilers see them that people use. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./processes.mjs";
import { inRoot, tool } from "./workspace.mjs";

const newer = (/** @type {string} */ name) => inRoot(join("packages/tooling/node_modules", name, "bin/tsc"));

/** The newest three minor releases are tried with every setting, the two before with one each. */
const compilers = [
  { tsc: newer("typescript-7-0"), thorough: true },
  { tsc: newer("typescript-6-0"), thorough: true },
  { tsc: tool("typescript/bin/tsc"), thorough: true },
  { tsc: newer("typescript-5-8"), thorough: false },
  { tsc: newer("typescript-5-7"), thorough: false },
];

const resolutions = /** @type {const} */ ([
  { module: "nodenext", resolution: "nodenext", files: ["types.mts", "types.cts"] },
  { module: "node16", resolution: "node16", files: ["types.mts", "types.cts"] },
  { module: "esnext", resolution: "bundler", files: ["types.mts"] },
]);

/** An app in types: what is inferred must be neither too much nor nothing. */
const usage = `
import { Holdfast, type Connection, type HoldfastFunction } from "holdfast";
const app = new Holdfast({ id: "types" });
export const work: HoldfastFunction = app.createFunction({ id: "work", triggers: { event: "a" } }, async ({ step }) => {
  const one: number = await step.run("one", () => 1);
  // @ts-expect-error a number is no text
  const two: string = await step.run("two", () => 1);
  return { one, two };
});
export const open = (): Promise<Connection> => app.connect({ functions: [work], drainTimeout: "5s" });
// @ts-expect-error there is no such option
void app.connect({ functions: [work], noSuchOption: 1 });
`;

/**
 * @param {string} folder a project that has the packages installed
 * @param {readonly string[]} entries what can be imported
 * @returns {Promise<{ what: string, problem: string }[]>}
 */
export async function checkTypes(folder, entries) {
  const imports = entries.map((entry, index) => `import * as m${index} from "${entry}";\nvoid m${index};`).join("\n");
  for (const name of ["types.mts", "types.cts"]) writeFileSync(join(folder, name), `${imports}\n${usage}`);
  const trials = compilers.flatMap(({ tsc, thorough }) =>
    resolutions.flatMap((each, index) =>
      [true, false].map((exact) => ({ ...each, tsc, exact, wanted: thorough || index === (exact ? 0 : 2) })),
    ),
  );
  /** @type {{ what: string, problem: string }[]} */
  const results = [];
  const waiting = trials.filter(({ wanted }) => wanted);
  const lanes = [1, 2].map(async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await check(folder, next));
  });
  await Promise.all(lanes);
  for (const trial of bareTrials) results.push(await checkBare(folder, trial));
  return results;
}

/** Projects without @types/node, and the resolution that knows no exports: what an app itself imports has to do there. */
const bareTrials = [
  { tsc: newer("typescript-7-0"), module: "esnext", resolution: "bundler" },
  { tsc: newer("typescript-6-0"), module: "nodenext", resolution: "nodenext" },
  { tsc: tool("typescript/bin/tsc"), module: "commonjs", resolution: "node10" },
];

const bare = ["holdfast", "holdfast/client", "holdfast/connect", "holdfast/isolate", "holdfast/operate"]
  .map((entry, index) => `import * as m${index} from "${entry}";\nvoid m${index};`)
  .join("\n");

/**
 * @param {string} folder
 * @param {{ tsc: string, module: string, resolution: string }} trial
 */
async function checkBare(folder, { tsc, module, resolution }) {
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: false, target: "es2022", types: [] },
    ...{ module, moduleResolution: resolution },
  };
  writeFileSync(join(folder, "bare.ts"), `${bare}\n${usage}`);
  writeFileSync(join(folder, "tsconfig.bare.json"), JSON.stringify({ compilerOptions, files: ["bare.ts"] }));
  const args = [tsc, "--project", "tsconfig.bare.json"];
  const { code, output } = await run(process.execPath, args, { cwd: folder, output: "collect", timeoutMs: 120_000 });
  const { version } = JSON.parse(readFileSync(join(tsc, "../../package.json"), "utf8"));
  return {
    what: `types: TypeScript ${version}, ${resolution}, without @types/node`,
    problem: code === 0 ? "" : `${output}(${code})`,
  };
}

/**
 * @param {string} folder
 * @param {{ tsc: string, module: string, resolution: string, files: readonly string[], exact: boolean }} trial
 */
async function check(folder, { tsc, module, resolution, files, exact }) {
  const settings = ["--noEmit", "--strict", "--skipLibCheck", "false", "--exactOptionalPropertyTypes", String(exact)];
  const library = ["--target", "es2022", "--lib", "es2023", "--types", "node"];
  // Node's own types are the only ones that a user has to have.
  const types = ["--typeRoots", inRoot("node_modules/@types")];
  const args = [tsc, ...settings, ...library, ...types, "--module", module, "--moduleResolution", resolution, ...files];
  const { code, output } = await run(process.execPath, args, { cwd: folder, output: "collect", timeoutMs: 120_000 });
  const { version } = JSON.parse(readFileSync(join(tsc, "../../package.json"), "utf8"));
  const exactly = exact ? ", exactOptionalPropertyTypes" : "";
  return {
    what: `types: TypeScript ${version}, ${resolution}${exactly}`,
    problem: code === 0 ? "" : `${output}(${code})`,
  };
}
