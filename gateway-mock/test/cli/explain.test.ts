import { ERROR_CATALOGUE } from "@holdfast/core";
import { expect, test } from "vitest";
import { explain } from "../../src/cli/explain.ts";

async function explained(args: readonly string[], flags: Readonly<Record<string, true>> = {}): Promise<string> {
  let text = "";
  const output = {
    print: (part: string) => {
      text += part;
    },
    note: () => {},
    isTerminal: false,
    showsProgress: false,
    columns: 200,
    colours: false,
  };
  expect(await explain({ args, flags, env: {}, output })).toBe(0);
  return text;
}

test("a code is explained, however it is written", async () => {
  const { summary, fix } = ERROR_CATALOGUE.OPTION_MISSING;
  expect(await explained(["option_missing"])).toBe(`OPTION_MISSING\n\n${summary}\n\nFix: ${fix}\n`);
  expect(JSON.parse(await explained(["OPTION_MISSING"], { json: true }))).toEqual({
    ...{ code: "OPTION_MISSING", summary, fix },
  });
});

test("without a code all are listed", async () => {
  const codes = Object.keys(ERROR_CATALOGUE);
  const lines = (await explained([])).trim().split("\n");
  expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(codes);
});

test("a code that there is not is refused, with one that comes close", async () => {
  await expect(explained(["OPTION_MISING"])).rejects.toMatchObject({
    code: "GATEWAY_USAGE",
    message: expect.stringContaining("Did you mean OPTION_MISSING?"),
  });
  await expect(explained(["XYZ"])).rejects.toThrow("lists all");
});
