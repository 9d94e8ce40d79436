/**
 * Writes the tables of options in the READMEs of the SDK and the gateway, and that of metrics, between
 * `<!-- options NAME -->` and `<!-- /options -->`, from the tables that the product itself reads; with `--check` it only reports whether they are current.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { CommandSpec } from "../../../gateway-mock/src/cli/command-spec.ts";
import { COMMANDS } from "../../../gateway-mock/src/cli/commands.ts";
import { EXIT_TEXTS } from "../../../gateway-mock/src/cli/exit-codes.ts";
import { COMMAND_OPTIONS } from "../../../gateway-mock/src/config/command-options.ts";
import type { OptionRow } from "../../../gateway-mock/src/config/option-kinds.ts";
import { GATEWAY_OPTIONS } from "../../../gateway-mock/src/config/option-table.ts";
import type { MetricRow } from "../../../gateway-mock/src/metrics/metric-row.ts";
import { METRICS } from "../../../gateway-mock/src/metrics/metric-table.ts";
import { CLIENT_OPTION_DOCS } from "../../sdk/src/app/client-option-docs.ts";
import { CLIENT_OPTIONS } from "../../sdk/src/app/client-option-table.ts";
import { CONNECT_GROUPS, CONNECT_OPTIONS } from "../../sdk/src/connection/main/connect-option-table.ts";

interface Row {
  readonly variables?: readonly string[];
  readonly default?: unknown;
  readonly doc: string;
}
type Table = Readonly<Record<string, Row>>;

const CLIENT_TABLE: Table = Object.fromEntries(
  Object.entries(CLIENT_OPTIONS).map(([name, row]) => [
    name,
    { ...row, doc: CLIENT_OPTION_DOCS[name as keyof typeof CLIENT_OPTION_DOCS] },
  ]),
);

const pages: readonly { readonly path: string; readonly tables: Readonly<Record<string, string>> }[] = [
  {
    path: "packages/sdk/README.md",
    tables: {
      client: optionTable({ "": CLIENT_TABLE }),
      connect: optionTable({ "": CONNECT_OPTIONS, ...CONNECT_GROUPS }),
    },
  },
  {
    path: "gateway-mock/README.md",
    tables: {
      gateway: gatewayTable(GATEWAY_OPTIONS),
      command: gatewayTable(COMMAND_OPTIONS),
      commands: commandsTable(COMMANDS),
      "exit codes": exitCodesTable(),
    },
  },
  {
    path: "docs/configuration.md",
    tables: {
      client: optionTable({ "": CLIENT_TABLE }),
      connect: optionTable({ "": CONNECT_OPTIONS, ...CONNECT_GROUPS }),
      gateway: gatewayTable(GATEWAY_OPTIONS),
      command: gatewayTable(COMMAND_OPTIONS),
    },
  },
  { path: "docs/metrics.md", tables: { metrics: metricsTable(METRICS) } },
];

/** The gateway's options; those of the command line alone have no name for programs that counts. */
export function gatewayTable(table: Readonly<Record<string, OptionRow>>): string {
  const lines = Object.entries(table).map(([name, { flag, variables, default: value, doc }]) => {
    const shownFlag = flag === null ? "" : `\`--${flag.name}${"sets" in flag ? "" : ` ${flag.takes}`}\``;
    const shown = value === undefined || isEmpty(value) ? "" : `\`${JSON.stringify(value)}\``;
    return `| \`${name}\` | ${shownFlag} | ${variables.map((one) => `\`${one}\``).join(", ")} | ${shown} | ${doc} |`;
  });
  return ["| option | flag | variable | default | |", "|---|---|---|---|---|", ...lines].join("\n");
}

/** What each command does, with one of its examples. */
function commandsTable(specs: readonly CommandSpec[]): string {
  const lines = specs.flatMap(({ name, args, summary, examples: [example] }) => {
    const call = [name, ...args.map((one) => one.name)].join(" ");
    return example === undefined ? [] : [`| \`${call}\` | ${summary} | \`${example.line.replaceAll("|", "\\|")}\` |`];
  });
  return ["| command | does | for example |", "|---|---|---|", ...lines].join("\n");
}

function metricsTable(rows: readonly MetricRow[]): string {
  const lines = rows.map(({ name, kind, labels = [], help }) => {
    return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
  });
  return ["| metric | kind | labels | |", "|---|---|---|---|", ...lines].join("\n");
}

function exitCodesTable(): string {
  const lines = Object.entries(EXIT_TEXTS).map(([code, text]) => `| ${code} | ${text} |`);
  return ["| exit code | |", "|---|---|", ...lines].join("\n");
}

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
export function withTables(text: string, wanted: Readonly<Record<string, string>>): string {
  return Object.entries(wanted).reduce((page, [name, table]) => {
    const marks = new RegExp(`(<!-- options ${name} -->\\n)[\\s\\S]*?(<!-- /options -->)`);
    if (!marks.test(page)) throw new Error(`There is no <!-- options ${name} --> ... <!-- /options --> in the README.`);
    return page.replace(marks, (_all, begin: string, end: string) => `${begin}${table}\n${end}`);
  }, text);
}

function main(): void {
  const isCheck = process.argv.includes("--check");
  for (const { path, tables } of pages) {
    const file = new URL(`../../../${path}`, import.meta.url);
    const text = readFileSync(file, "utf8");
    const wanted = withTables(text, tables);
    if (text === wanted) continue;
    if (!isCheck) {
      writeFileSync(file, wanted);
      continue;
    }
    console.error(`The tables of options in ${path} are not current: run \`npm run docs:options\`.`);
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-options.ts")) main();
