/**
 * Writes `docs/node-types.md` from the table of the built-in node types; with `--check` it only reports whether the file
 * is up to date.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { BUILT_IN_TYPES, type BuiltInType, type FieldKind } from "../../graph/src/definition/node-types.ts";

const file = new URL("../../../docs/node-types.md", import.meta.url);

/** The page: one section a type, in the table's order. */
export function nodeTypesPage(types: Readonly<Record<string, BuiltInType>>): string {
  const head = [
    "<!-- Generated from packages/graph/src/definition/node-types.ts by `npm run docs:nodes`; change it there. -->",
    "",
    "# Node types of graphs",
    "",
    "The built-in types. [Graphs](graphs.md) says how they work together, and how to add types of your own.",
    "A template may stand where the table says so: `{{ctx.name.field}}`.",
  ];
  return `${[...head, ...Object.entries(types).flatMap(([name, type]) => section(name, type))].join("\n")}\n`;
}

function section(name: string, { summary, output, handles, config, retries, undoable }: BuiltInType): string[] {
  const ways =
    name === "condition" ? ["the id of each branch", "`else`", "`error`"] : handles.map((one) => `\`${one}\``);
  const can = [...(retries ? ["`retries`"] : []), ...(undoable ? ["`compensate`"] : [])];
  const fields = Object.entries(config).map(([field, { summary: what, required, default: usual, type }]) => {
    const cells = [`\`${field}\``, kindText(type), required ? "required" : (usual ?? ""), what];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return [
    "",
    `## ${name}`,
    "",
    summary,
    "",
    ...(fields.length === 0 ? [] : ["| config | is | default | |", "|---|---|---|---|", ...fields, ""]),
    `- Output: ${output}`,
    `- Handles: ${ways.length === 0 ? "none" : ways.join(", ")}`,
    ...(can.length === 0 ? [] : [`- Can have: ${can.join(", ")}`]),
  ];
}

function kindText(type: FieldKind): string {
  switch (type.kind) {
    case "value":
      return "any value, with templates";
    case "values":
      return "values by name, with templates";
    case "match":
      return "values by path, with templates";
    case "text":
      return type.templates ? "text, with templates" : "text";
    case "url":
      return "URL, with templates";
    case "duration":
      return "duration, or a template";
    case "instant":
      return "point in time, or a template";
    case "name":
      return "name";
    case "integer":
      return `${type.min} to ${type.max}`;
    case "choice":
      return type.of.map((one) => `\`${one}\``).join(", ");
    case "branches":
      return "list of `{ id, if }`";
    case "code":
      return "JavaScript";
    case "waitExpression":
      return "CEL over `async`";
  }
}

function main(): void {
  const page = nodeTypesPage(BUILT_IN_TYPES);
  if (!process.argv.includes("--check")) {
    writeFileSync(file, page);
    return;
  }
  if (!existsSync(file) || readFileSync(file, "utf8") !== page) {
    console.error("docs/node-types.md does not agree with the table of node types: run `npm run docs:nodes`.");
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-node-types.ts")) main();
