/** JSON that a flag gives: as text, of a file (`@file`), or of stdin (`-`). */
import { readFileSync } from "node:fs";
import { messageOf } from "@holdfast/core";
import { usage } from "../config/settings.ts";

export function jsonArgument(flag: string, given: string): unknown {
  if (given === "-" || given.startsWith("@")) return readJson(given === "-" ? "-" : given.slice(1), `${flag} ${given}`);
  return parsed(given, flag, `. Quote it for the shell: ${flag} '{"card":"4242"}'`);
}

/** Of an argument that is a file, or `-` for stdin. */
export const jsonFile = (file: string): unknown => readJson(file, file === "-" ? "stdin" : file);

function readJson(file: string, named: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw usage(`${named} cannot be read: ${messageOf(error)}`);
  }
  return parsed(text, named, ".");
}

function parsed(text: string, named: string, hint: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${named} is not JSON: ${messageOf(error)}${hint}`);
  }
}
