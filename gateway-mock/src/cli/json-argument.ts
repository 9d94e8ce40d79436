/** JSON that a flag gives: as text, of a file (`@file`), or of stdin (`-`). */
import { readFileSync } from "node:fs";
import { messageOf } from "@holdfast/core";
import { usage } from "../config/settings.ts";

export function jsonArgument(flag: string, given: string): unknown {
  const text = given === "-" || given.startsWith("@") ? fileText(flag, given) : given;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${flag} is not JSON: ${messageOf(error)}. Quote it for the shell: ${flag} '{"card":"4242"}'`);
  }
}

function fileText(flag: string, given: string): string {
  try {
    return readFileSync(given === "-" ? 0 : given.slice(1), "utf8");
  } catch (error) {
    throw usage(`${flag} ${given} cannot be read: ${messageOf(error)}`);
  }
}
