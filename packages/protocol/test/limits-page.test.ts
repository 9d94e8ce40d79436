import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { WIRE_LIMITS } from "../src/limits.ts";

const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
const KiB = 1024;
const MiB = KiB * KiB;

/** As the page writes a value: bytes and characters in binary units where they are whole. */
function written(name: string, value: number): string {
  if (name.endsWith("Bytes")) return value < MiB ? `${value / KiB} KiB` : `${value / MiB} MiB`;
  if (name.endsWith("Length")) return value % MiB === 0 ? `${value / MiB} Mi characters` : `${value} characters`;
  return name.endsWith("Depth") ? `${value} levels` : String(value);
}

test.each(Object.entries(WIRE_LIMITS))("the page of limits has %s with its value, %d", (name, value) => {
  const rows = page.split("\n").filter((line) => line.startsWith("|") && line.includes(`(\`${name}\`)`));
  expect(rows).toHaveLength(1);
  expect(rows[0]?.split("|")[2]?.trim()).toBe(written(name, value));
  // What happens beyond it.
  expect(rows[0]?.split("|")[3]?.trim()).not.toBe("");
});

test("the page of limits names none that is not there", () => {
  const named = [...page.matchAll(/\(`((?:max|plain)\w+)`\)/g)].map(([, name]) => name);
  expect(named.filter((name) => !(String(name) in WIRE_LIMITS))).toEqual([]);
});
