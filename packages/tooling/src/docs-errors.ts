/**
 * Writes `docs/errors.md` from the catalogue of error codes; with `--check` it only reports whether the file is up to date.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { ERROR_CATALOGUE } from "../../core/src/errors.ts";

const file = new URL("../../../docs/errors.md", import.meta.url);

/** The page: one section a code, in the catalogue's order. */
export function errorsPage(catalogue: Readonly<Record<string, { summary: string; fix: string }>>): string {
  const head = [
    "<!-- Generated from packages/core/src/errors.ts by `pnpm docs:errors`; change it there. -->",
    "",
    "# Errors",
    "",
    "Every error Holdfast throws, logs or sends carries a stable `code`. The message says what was wrong in your case;",
    "this page says what the code means and how to fix it. A code is never reused with another meaning.",
    "`holdfast-gateway explain OPTION_MISSING` prints the same, and every gateway with a dashboard shows it at",
    "`/errors/OPTION_MISSING`.",
  ];
  const sections = Object.entries(catalogue).flatMap(([code, { summary, fix }]) => [
    "",
    `## ${code}`,
    "",
    ...wrapped(summary),
    "",
    ...wrapped(`**Fix:** ${fix}`),
  ]);
  return `${[...head, ...sections].join("\n")}\n`;
}

const MAX_LINE = 120;

/** The lines of a paragraph; a code span stays on one line. */
export function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    if (line !== "" && line.length + 1 + word.length > MAX_LINE) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function main(): void {
  const page = errorsPage(ERROR_CATALOGUE);
  if (!process.argv.includes("--check")) {
    writeFileSync(file, page);
    return;
  }
  if (!existsSync(file) || readFileSync(file, "utf8") !== page) {
    console.error("docs/errors.md does not agree with the error catalogue: run `pnpm docs:errors`.");
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-errors.ts")) main();
