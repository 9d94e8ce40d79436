/** `holdfast-gateway --help`, from the tables of options. */
import { formatSingleUnit } from "@holdfast/core";
import { COMMAND_OPTIONS } from "./cli.ts";
import type { OptionRow } from "./option-kinds.ts";
import { GATEWAY_OPTIONS } from "./option-table.ts";

const WIDTH = 120;
const INDENT = 4;

/** As in a command line; empty where nothing is to be said. */
export function shownDefault(name: string, { default: value }: OptionRow): string {
  if (value === undefined || typeof value === "boolean" || (Array.isArray(value) && value.length === 0)) return "";
  return name.endsWith("Ms") && typeof value === "number" ? formatSingleUnit(value) : String(value);
}

export function shownFlag({ flag }: OptionRow): string {
  if (flag === null) return "";
  return "sets" in flag ? `--${flag.name}` : `--${flag.name} ${flag.takes}`;
}

function entry([name, row]: readonly [string, OptionRow]): string[] {
  const flag = shownFlag(row);
  if (flag === "" && row.variables.length === 0) return [];
  const value = shownDefault(name, row);
  const said = [
    row.doc.replaceAll("`", ""),
    value === "" ? "" : ` (default ${value})`,
    row.flag && "isRepeatable" in row.flag ? "; repeatable" : "",
  ].join("");
  const heads = [flag, ...row.variables].filter((one) => one !== "").join(", ");
  return [`  ${heads}`, ...wrapped(said)];
}

function wrapped(text: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && INDENT + line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => " ".repeat(INDENT) + line);
}

export const HELP = `Usage: holdfast-gateway dev [options]

Runs a gateway on this machine: HTTP, WebSocket, dispatcher and store, with an embedded Postgres unless you name one.

Options, as flags or environment variables; a flag overrides its variable:
${Object.entries<OptionRow>({ ...GATEWAY_OPTIONS, ...COMMAND_OPTIONS })
  .flatMap(entry)
  .join("\n")}
  --version, --help
`;
