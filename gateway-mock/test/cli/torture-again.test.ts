import { expect, test } from "vitest";
import { againCommand } from "../../src/cli/torture-again.ts";

const finding = { functionId: "shop-order", seed: 7, round: 12 };
const plain = "holdfast-gateway torture --function shop-order --seed 7 --round 12";

function again(given: Readonly<Record<string, string>>, data: unknown = {}): string {
  const flags = Object.fromEntries(Object.entries(given).map(([name, text]) => [name, [text]]));
  return againCommand(finding, { ...flags, json: true }, data);
}

test("a finding is shown again with function, seed and round alone where nothing else was given", () => {
  expect(again({ function: "shop-order", seed: "7" })).toBe(plain);
});

test.each([
  ["url", "http://localhost:9000", "--url http://localhost:9000"],
  ["data", '{"name":"O\'Hara & Sons"}', `--data '{"name":"O'\\''Hara & Sons"}'`],
  ["effects", 'psql -c "select $HOLDFAST_RUN_ID"', `--effects 'psql -c "select $HOLDFAST_RUN_ID"'`],
  ["rounds", "40", "--rounds 40"],
  ["timeoutMs", "1m", "--timeout 1m"],
  ["env", "preview", "--env preview"],
])("the option %s is repeated as a shell takes it", (name, text, expected) => {
  expect(again({ [name]: text })).toBe(`${plain} ${expected}`);
});

test("data that came by stdin is repeated as text, a file by its name; keys are not shown", () => {
  expect(again({ data: "-" }, { card: "4242" })).toMatch(/--round 12 --data '\{"card":"4242"\}'$/);
  expect(again({ data: "@order.json" })).toMatch(/--data @order\.json$/);
  expect(again({ signingKey: "0f0f", eventKey: "secret" })).toMatch(/--round 12$/);
});
