/** `explain`: what error codes mean and how to fix them, from the catalogue that the programs themselves have. */
import { ERROR_CATALOGUE, type ErrorCode, errorPage, nearestName } from "@holdfast/core";
import { usage } from "../config/settings.ts";
import { JSON_OPTION } from "./client-options.ts";
import { type CommandContext, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { tableText } from "./table.ts";

const isCode = (text: string): text is ErrorCode => Object.hasOwn(ERROR_CATALOGUE, text);
const CODES = Object.keys(ERROR_CATALOGUE).filter(isCode);

export async function explain(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(JSON_OPTION, context);
  const { args, output } = context;
  const [given] = args;
  if (given === undefined) {
    if (json) printJson(output, { codes: CODES.map(entryOf) });
    else
      output.print(
        tableText(
          ["CODE", "WHAT IT MEANS"],
          CODES.map((code) => [code, ERROR_CATALOGUE[code].summary]),
        ),
      );
    return EXIT.done;
  }
  const { code, summary, fix, docs } = entryOf(readCode(given));
  if (json) printJson(output, { code, summary, fix, ...(docs === undefined ? {} : { docs }) });
  else output.print([code, "", summary, "", `Fix: ${fix}`, ...(docs === undefined ? [] : ["", docs]), ""].join("\n"));
  return EXIT.done;
}

function entryOf(code: ErrorCode): { code: ErrorCode; summary: string; fix: string; docs?: string } {
  const docs = errorPage(code);
  return { code, ...ERROR_CATALOGUE[code], ...(docs === undefined ? {} : { docs }) };
}

/** @throws HoldfastError `GATEWAY_USAGE` */
function readCode(given: string): ErrorCode {
  const code = given.trim().toUpperCase();
  if (isCode(code)) return code;
  const near = nearestName(code, CODES);
  const hint = near === undefined ? "`holdfast-gateway explain` lists all." : `Did you mean ${near}?`;
  throw usage(`There is no error code ${code.slice(0, 80)}. ${hint}`);
}
