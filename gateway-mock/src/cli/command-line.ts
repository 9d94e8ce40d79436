/**
 * Reads the command line with `commander` (docs/decisions/0077): which command, its arguments and the flags it was
 * given. Runs nothing. Mistakes become `GATEWAY_USAGE` with the nearest name.
 */

import { nearestName } from "@holdfast/core";
import { Command, CommanderError, Help, Option } from "commander";
import { DEVELOPMENT_ONLY, flagRows } from "../config/modes.ts";
import type { OptionRow } from "../config/option-kinds.ts";
import { durationText } from "../config/print-config.ts";
import { type Flags, type Rows, usage } from "../config/settings.ts";
import type { CommandName, CommandSpec } from "./command-spec.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT_TEXTS } from "./exit-codes.ts";

export type Invocation =
  | { readonly type: "help"; readonly text: string }
  | { readonly type: "version" }
  | {
      readonly type: "command";
      readonly name: CommandName;
      readonly args: readonly string[];
      readonly flags: Flags;
    };

const PROGRAM = "holdfast-gateway";
const HELP_COLUMNS = 120;

const INTRODUCTION = `The Holdfast gateway: durable functions on a connection your code can't block.

One program with two modes: \`dev\` for your machine, \`start\` for production.`.replaceAll("`", '"');

const FOOTER = `
Begin on your machine:
  $ ${PROGRAM} dev
  $ HOLDFAST_DEV=http://localhost:8288 node app.js
  $ ${PROGRAM} send shop/order.placed --data '{"card":"4242"}'

"${PROGRAM} <command> --help" has the options of a command, with examples.
Exit codes:
${Object.entries(EXIT_TEXTS)
  .map(([code, text]) => `  ${code.padEnd(4)} ${text}\n`)
  .join("")}`;

/** @throws HoldfastError `GATEWAY_USAGE` */
export function parseCommandLine(args: readonly string[], columns = HELP_COLUMNS): Invocation {
  checkHelp(args);
  let invocation: Invocation | undefined;
  let written = "";
  const program = createProgram(Math.min(columns, HELP_COLUMNS), (found) => {
    invocation = found;
  });
  for (const command of withSubcommands(program)) {
    const write = (text: string): void => {
      written += text;
    };
    command.exitOverride().configureOutput({ writeOut: write, writeErr: write });
  }
  try {
    program.parse([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.version" && args[0] === "--version") return { type: "version" };
    if (error.code === "commander.version") throw versionOfCommand(args);
    if (error.code.startsWith("commander.help")) return { type: "help", text: written };
    throw args.some((one) => one.startsWith("--version=")) ? versionOfCommand(args) : mistake(error, args);
  }
  return invocation ?? { type: "help", text: program.helpInformation() };
}

/** The library shows the help of all commands for one that there is not: `help strat`, `strat --help`. */
function checkHelp([first, ...rest]: readonly string[]): void {
  const names = COMMANDS.map(({ name }) => name.split(" ")[0] ?? "");
  const isAsked = first === "help" || rest.includes("--help") || rest.includes("-h");
  const asked = first === "help" ? rest[0] : first;
  if (!isAsked || asked === undefined || asked.startsWith("-") || names.includes(asked)) return;
  const near = nearestName(asked, names);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw usage(`Unknown command "${asked}".${hint} "${PROGRAM} --help" lists all commands.`);
}

function createProgram(columns: number, found: (invocation: Invocation) => void): Command {
  const program = new Command(PROGRAM)
    .description(INTRODUCTION)
    .version("", "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ helpWidth: columns, subcommandTerm: termOf })
    .addHelpText("after", FOOTER);
  const parents = new Map<string, Command>();
  for (const spec of COMMANDS) {
    const [first = "", second] = spec.name.split(" ");
    const parent = second === undefined ? program : (parents.get(first) ?? program);
    const command = parent.command(second ?? first).copyInheritedSettings(program);
    parents.set(spec.name, command);
    describe(command, spec, columns);
    const { name } = spec;
    if (name === "keys") continue;
    command.action((...given: unknown[]) => {
      const texts = given.slice(0, -2).flat();
      found({
        type: "command",
        name,
        args: texts.filter((one) => typeof one === "string"),
        flags: givenFlags(command, spec.rows),
      });
    });
  }
  return program;
}

function describe(command: Command, spec: CommandSpec, columns: number): void {
  command.summary(spec.summary).description(spec.description).helpGroup(spec.group).allowExcessArguments(false);
  for (const { name, doc } of spec.args) command.argument(name, doc);
  for (const [name, row] of Object.entries(spec.rows)) {
    if (row.flag !== null) command.addOption(optionOf(name, row));
  }
  command.helpOption("-h, --help", "print this help");
  command.addHelpText("after", `${variablesText(spec.rows, columns)}${examplesText(spec)}`);
}

/** In the list of commands their names and arguments are enough. */
function termOf(command: Command): string {
  const args = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? "..." : ""}`;
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...args].join(" ");
}

function optionOf(name: string, row: OptionRow): Option {
  const { flag } = row;
  const isSwitch = flag !== null && "sets" in flag;
  const option = new Option(isSwitch ? `--${flag.name}` : `--${flag?.name} ${flag?.takes}`, descriptionOf(name, row));
  if (!isSwitch) option.argParser((text: string, before: unknown) => [...(Array.isArray(before) ? before : []), text]);
  return option;
}

function descriptionOf(name: string, row: OptionRow): string {
  const value = shownDefault(name, row);
  const said = [
    row.doc.replaceAll("`", ""),
    value === "" ? "" : ` (default ${value})`,
    row.flag && "isRepeatable" in row.flag ? "; repeatable" : "",
    row.variables.length === 0 ? "" : ` [${row.variables.join(", ")}]`,
  ];
  return said.join("");
}

function shownDefault(name: string, { default: value }: OptionRow): string {
  if (value === undefined || typeof value === "boolean" || (Array.isArray(value) && value.length === 0)) return "";
  return name.endsWith("Ms") && typeof value === "number" ? durationText(value) : String(value);
}

/** What can be set in the environment alone, since others on the machine can read command lines. */
function variablesText(rows: Rows, columns: number): string {
  const secret = Object.values(rows).filter(({ flag, variables }) => flag === null && variables.length > 0);
  if (secret.length === 0) return "";
  const indented = (text: string): string => text.replaceAll(/^/gm, "      ");
  const lines = secret.map((row) => {
    const doc = new Help().boxWrap(row.doc.replaceAll("`", ""), columns - 6);
    return `  ${row.variables.join(", ")}\n${indented(doc)}\n`;
  });
  return `\nOnly in the environment:\n${lines.join("")}`;
}

function examplesText({ examples }: CommandSpec): string {
  if (examples.length === 0) return "";
  const lines = examples.map(({ doc, line }) => `  # ${doc}\n  $ ${line}\n`);
  return `\nExamples:\n${lines.join("\n")}`;
}

/** What `workers drain web-1 --url …` is given the library reads as an option of `workers`, which has it as well. */
function givenFlags(command: Command, rows: Rows): Flags {
  const ways = command.parent ? [command, command.parent] : [command];
  return Object.fromEntries(
    Object.entries(rows).flatMap(([name, { flag }]): [string, readonly string[] | true][] => {
      const value = ways.map((one) => givenValue(one, flag)).find((one) => one !== undefined);
      return value === undefined ? [] : [[name, Array.isArray(value) ? value.map(String) : true]];
    }),
  );
}

function givenValue(command: Command, flag: OptionRow["flag"]): unknown {
  const option = command.options.find(({ long }) => flag !== null && long === `--${flag.name}`);
  if (option === undefined || command.getOptionValueSource(option.attributeName()) !== "cli") return undefined;
  const values: Readonly<Record<string, unknown>> = command.opts();
  return values[option.attributeName()];
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function mistake({ message, code }: CommanderError, args: readonly string[]): Error {
  const [said = "", hint] = message.replace(/^error: /, "").split("\n");
  const problem = `${said.charAt(0).toUpperCase()}${said.slice(1).replaceAll("'", '"')}`.replace(/\.$/, "");
  const flag = /^unknown option '(--[^'=]+)/.exec(said)?.[1];
  if (args[0] === "start" && flag !== undefined && isDevelopmentFlag(flag)) {
    return usage(`${flag} is for development: "start" runs on your own Postgres, with keys. Use it with "dev".`);
  }
  const near = hint === undefined ? "" : ` ${hint.replace(/^\((.*)\)$/, "$1")}`;
  const which = code === "commander.unknownCommand" ? "" : ` ${commandOf(args)}`;
  const all = code === "commander.unknownCommand" ? "lists all commands" : "lists what it takes";
  return usage(`${problem}.${near} "${PROGRAM}${which.trimEnd()} --help" ${all}.`);
}

/** Asked of a command the program's own version would look as if the command had been carried out. */
function versionOfCommand(args: readonly string[]): Error {
  const command = commandOf(args);
  const rows: Rows = COMMANDS.find(({ name }) => name === command)?.rows ?? {};
  const hint = "graphVersion" in rows ? " The version of a graph is --graph-version." : "";
  return usage(`Unknown option "--version".${hint} "${PROGRAM} --version" alone prints that of the program.`);
}

/** The command that was meant, as far as there is one. */
function commandOf(args: readonly string[]): string {
  const names: readonly string[] = COMMANDS.map(({ name }) => name);
  const both = args.slice(0, 2).join(" ");
  if (names.includes(both)) return both;
  return names.includes(args[0] ?? "") ? (args[0] ?? "") : "";
}

function isDevelopmentFlag(flag: string): boolean {
  return Object.entries(flagRows("dev")).some(
    ([name, row]) => row.flag !== null && `--${row.flag.name}` === flag && Object.hasOwn(DEVELOPMENT_ONLY, name),
  );
}
