/** The command that shows a finding of `torture` again. Pure. */
import type { Flags } from "../config/settings.ts";
import { TORTURE_OPTIONS } from "./torture-options.ts";

/** What is said anew for each finding, what only changes how it is printed, and what does not belong on a screen. */
const NOT_REPEATED: readonly string[] = ["function", "seed", "round", "json", "signingKey", "eventKey"];

export interface Finding {
  readonly functionId: string;
  readonly seed: number;
  readonly round: number;
}

/** With the flags that the command was given, quoted for a shell. `data` is what stdin had, where `--data -` read it. */
export function againCommand({ functionId, seed, round }: Finding, flags: Flags, data: unknown): string {
  const repeated = Object.entries(TORTURE_OPTIONS).flatMap(([name, { flag }]) => {
    const given = flags[name];
    if (given === undefined || given === true || NOT_REPEATED.includes(name)) return [];
    return given.flatMap((text) => [
      `--${flag.name}`,
      quoted(name === "data" && text === "-" ? JSON.stringify(data) : text),
    ]);
  });
  const own = ["--function", quoted(functionId), "--seed", String(seed), "--round", String(round)];
  return ["holdfast-gateway", "torture", ...own, ...repeated].join(" ");
}

const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
