/**
 * Carries out a command for each of the things that it names. What was done is said also where a later one fails: a run
 * that was made again is not made a second time by who repeats the command.
 */
import type { CommandContext } from "./context.ts";
import { printJson } from "./output.ts";
import { visible } from "./table.ts";

interface OneByOne<T> {
  readonly json: boolean;
  work(id: string): Promise<T>;
  /** What a line says of one. */
  line(result: T): string;
  /** What JSON says of all. */
  whole(results: readonly T[]): object;
}

/** @throws what `work` throws, once what was done before is printed */
export async function oneByOne<T>(
  { args, output }: CommandContext,
  { json, work, line, whole }: OneByOne<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  let isOver = false;
  try {
    for (const id of args) {
      const result = await work(id);
      results.push(result);
      if (!json) output.print(`${visible(line(result))}\n`);
    }
    isOver = true;
  } finally {
    if (json && (isOver || results.length > 0)) printJson(output, whole(results));
  }
  return results;
}
