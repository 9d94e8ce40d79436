import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesBelow, inRoot } from "../src/workspace.mjs";

interface Row {
  readonly section: string;
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
    if (cells[0] !== "fault") rows.push({ section, cells });
  }
  const files = [...text.matchAll(/^\[([a-z0-9-]+)\]: \.\.\/(\S+)$/gm)].map(
    ([, key = "", path = ""]) => [key, path] as const,
  );
  return { rows, files: new Map(files) };
}

/** What is wrong with the tests that a row names. */
function problems({ section, cells }: Row, files: ReadonlyMap<string, string>): string[] {
  const where = `${section}: ${cells[0]}`;
  if (cells.length !== 3 || cells.some((cell) => cell.trim() === "")) return [`${where}: a row has three cells`];
  const named = [...(cells[2] ?? "").split("<br>")].map((each) => /^\[([a-z0-9-]+)\] "(.+)"$/.exec(each));
  return named.flatMap((match) => {
    if (match === null) return [`${where}: ${cells[2]} does not name a file and a title`];
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
  "Isolated code",
  "Looking ahead",
  "Silence",
  "Hostile peers",
  "Several gateways, several versions",
  "Ends and outages",
  "Bodies that do not end, and listeners that throw",
  "Values and options of every kind",
]);

test("no fault is missing from the table", () => {
  const { rows } = read(page);
  const counts = new Map<string, number>();
  for (const { section } of rows) counts.set(section, (counts.get(section) ?? 0) + 1);
  const ownCounts = Object.fromEntries([...counts].filter(([name]) => own.has(name)));
  expect(Object.fromEntries(counts)).toEqual({
    Promises: 5,
    "The life of a connection": 66,
    "Bugs reproduced with another SDK": 20,
    "Measured while designing": 9,
    ...ownCounts,
    "Known weaknesses of another SDK": 50,
  });
});

test("a row is reported that names no test, a missing test or a missing file", () => {
  const files = new Map([
    ["here", "packages/tooling/test/faults.test.ts"],
    ["gone", "packages/tooling/test/gone.test.ts"],
  ]);
  const row = (tests: string): Row => ({ section: "S", cells: ["a", "b", tests] });
  expect(problems(row('[here] "no fault is left out"'), files)).toEqual([]);
  for (const wrong of ["", "none", `[here] "${"x".repeat(9)}y"`, '[gone] "a"', '[other] "a"']) {
    expect(problems(row(wrong), files), wrong).toHaveLength(1);
  }
});

test("no source file uses a weak registry", () => {
  const weak = new RegExp(["Weak", "Ref|Finalization", "Registry"].join(""));
  const sources = filesBelow(["packages", "gateway-mock"]).filter((path) => /\/src\/.*\.(ts|mjs)$/.test(path));
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter((path) => weak.test(readFileSync(inRoot(path), "utf8")))).toEqual([]);
});
