import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesBelow, inRoot } from "../src/workspace.mjs";

interface Row {
  readonly section: string;
  readonly number: string;
  readonly cells: readonly string[];
}

/** The rows of every table of the page, and where its short names of files lead. */
function read(text: string): { rows: Row[]; files: Map<string, string> } {
  const rows: Row[] = [];
  let section = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3);
    if (!line.startsWith("| ")) continue;
    const cells = line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, ""));
    if (cells[1] !== "fault") rows.push({ section, number: cells[0] ?? "", cells });
  }
  const files = [...text.matchAll(/^\[([a-z0-9-]+)\]: \.\.\/(\S+)$/gm)].map(
    ([, key = "", path = ""]) => [key, path] as const,
  );
  return { rows, files: new Map(files) };
}

/** What is wrong with the tests that a row names. */
function problems({ section, number, cells }: Row, files: ReadonlyMap<string, string>): string[] {
  const where = `${section} ${number}`;
  if (cells.length !== 4 || cells.some((cell) => cell.trim() === "")) return [`${where}: a row has four cells`];
  const named = [...(cells[3] ?? "").split("<br>")].map((each) => /^\[([a-z0-9-]+)\] "(.+)"$/.exec(each));
  return named.flatMap((match) => {
    if (match === null) return [`${where}: ${cells[3]} does not name a file and a title`];
    const [, key = "", title = ""] = match;
    const path = files.get(key);
    if (path === undefined || !existsSync(inRoot(path))) return [`${where}: there is no file ${path ?? key}`];
    // In the source a quote inside a title may be escaped.
    const source = readFileSync(inRoot(path), "utf8").replaceAll('\\"', '"');
    return source.includes(title) ? [] : [`${where}: ${path} has no test "${title}"`];
  });
}

const page = readFileSync(inRoot("docs/faults.md"), "utf8");

test("every fault of the table has a test that exists", () => {
  const { rows, files } = read(page);
  expect(rows.flatMap((row) => problems(row, files))).toEqual([]);
});

/** Sections that grow with what we find ourselves. */
const own = new Set([
  "Found under load",
  "With peers of the base protocol",
  "Silence",
  "Hostile peers",
  "Several gateways, several versions",
  "Ends and outages",
  "Values and options of every kind",
]);

test("no fault is left out", () => {
  const { rows } = read(page);
  const numbers = new Map<string, string[]>();
  for (const { section, number } of rows) numbers.set(section, [...(numbers.get(section) ?? []), number]);
  const upTo = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));
  const ownSections = (): Record<string, string[]> =>
    Object.fromEntries([...numbers].flatMap(([name, all]) => (own.has(name) ? [[name, upTo(all.length)]] : [])));
  expect(Object.fromEntries(numbers)).toEqual({
    Promises: expect.arrayContaining(["P1", "P2", "P4", "P5"]),
    "The life of a connection": upTo(66),
    "Bugs reproduced with another agent": upTo(20),
    "Measured while designing": upTo(9),
    ...ownSections(),
    "Known weaknesses of another agent": upTo(50),
  });
});

test("a row without a test, with one that is not there, or in a file that is not there is found", () => {
  const files = new Map([
    ["here", "packages/tooling/test/faults.test.ts"],
    ["gone", "packages/tooling/test/gone.test.ts"],
  ]);
  const row = (tests: string): Row => ({ section: "S", number: "1", cells: ["1", "a", "b", tests] });
  expect(problems(row('[here] "no fault is left out"'), files)).toEqual([]);
  for (const wrong of ["", "none", `[here] "${"x".repeat(9)}y"`, '[gone] "a"', '[other] "a"']) {
    expect(problems(row(wrong), files), wrong).toHaveLength(1);
  }
});

test("no registry is weak", () => {
  const weak = new RegExp(["Weak", "Ref|Finalization", "Registry"].join(""));
  const sources = filesBelow(["packages", "gateway-mock"]).filter((path) => /\/src\/.*\.(ts|mjs)$/.test(path));
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter((path) => weak.test(readFileSync(inRoot(path), "utf8")))).toEqual([]);
});
