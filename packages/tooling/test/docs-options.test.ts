import { expect, test } from "vitest";
import { gatewayTable, optionTable, withTables } from "../src/docs-options.ts";

const table = optionTable({
  "": {
    one: { variables: ["_ONE", "PLAIN"], default: "5s", doc: "the first" },
    group: { default: {}, doc: "more" },
  },
  group: { two: { default: false, doc: "the second" } },
});

test("the options table shows each option's variables and default, and groups under their name", () => {
  expect(table.split("\n").slice(2)).toEqual([
    '| `one` | `HOLDFAST_ONE`, `PLAIN` | `"5s"` | the first |',
    "| `group` |  |  | more |",
    "| `group.two` |  | `false` | the second |",
  ]);
});

test("the gateway's options table shows each option's flag, variables and default", () => {
  const kind = { fromText: (text: string) => text, check: (value: unknown) => value };
  const rows = gatewayTable({
    one: { kind, flag: { name: "one", takes: "<n>" }, variables: ["A", "B"], default: 5, doc: "the first" },
    two: { kind, flag: { name: "two", sets: true }, variables: [], default: [], doc: "the second" },
    three: { kind, flag: null, variables: ["C"], doc: "the third" },
  });
  expect(rows.split("\n").slice(2)).toEqual([
    "| `one` | `--one <n>` | `A`, `B` | `5` | the first |",
    "| `two` | `--two` |  |  | the second |",
    "| `three` |  | `C` |  | the third |",
  ]);
});

test("an outdated options table is replaced and its surroundings are kept", () => {
  const page = (inside: string) => `Before\n\n<!-- options x -->\n${inside}<!-- /options -->\n\nAfter\n`;
  for (const inside of ["", "| old |\n"]) {
    expect(withTables(page(inside), { x: table })).toBe(page(`${table}\n`));
  }
  expect(() => withTables("Nothing", { x: table })).toThrow("options x");
});
