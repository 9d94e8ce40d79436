/**
 * Writes the tables of options in `packages/sdk/README.md`, between `<!-- options NAME -->` and `<!-- /options -->`, from the
 * tables that the options are read by; with `--check` it only reports whether the file is up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { CLIENT_OPTIONS } from "../../sdk/src/app/client-option-table.ts";
import { CONNECT_GROUPS, CONNECT_OPTIONS } from "../../sdk/src/connection/main/connect-option-table.ts";

interface Row {
  readonly variables?: readonly string[];
  readonly default?: unknown;
  readonly doc: string;
}
type Table = Readonly<Record<string, Row>>;

const file = new URL("../../sdk/README.md", import.meta.url);

const tables: Readonly<Record<string, string>> = {
  client: optionTable({ "": CLIENT_OPTIONS }),
  connect: optionTable({ "": CONNECT_OPTIONS, ...CONNECT_GROUPS }),
};

/** The rows of a table and of its groups, by the groups' names. */
export function optionTable(groups: Readonly<Record<string, Table>>): string {
  const lines = Object.entries(groups).flatMap(([group, table]) =>
    Object.entries(table).map(([name, { variables = [], default: value, doc }]) => {
      const shown = value === undefined || isEmpty(value) ? "" : `\`${JSON.stringify(value)}\``;
      return `| \`${group === "" ? "" : `${group}.`}${name}\` | ${variables.map(shownVariable).join(", ")} | ${shown} | ${doc} |`;
    }),
  );
  return ["| option | variable | default | |", "|---|---|---|---|", ...lines].join("\n");
}

/** A group's defaults are those of its options. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shownVariable(name: string): string {
  return `\`${name.startsWith("_") ? `HOLDFAST${name}` : name}\``;
}

/**
 * The text with its tables as they should be.
 * @throws when a table is missing
 */
export function withTables(text: string, wanted: Readonly<Record<string, string>> = tables): string {
  return Object.entries(wanted).reduce((page, [name, table]) => {
    const marks = new RegExp(`(<!-- options ${name} -->\\n)[\\s\\S]*?(<!-- /options -->)`);
    if (!marks.test(page)) throw new Error(`There is no <!-- options ${name} --> ... <!-- /options --> in the README.`);
    return page.replace(marks, (_all, begin: string, end: string) => `${begin}${table}\n${end}`);
  }, text);
}

function main(): void {
  const text = readFileSync(file, "utf8");
  const wanted = withTables(text);
  if (!process.argv.includes("--check")) {
    writeFileSync(file, wanted);
    return;
  }
  if (text !== wanted) {
    console.error("The tables of options in packages/sdk/README.md are not current: run `npm run docs:options`.");
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-options.ts")) main();
