import { expect, test } from "vitest";
import { runs } from "../src/runs.ts";

test.each(["true", "1", "yes"])("in continuous integration (CI=%s) a property test tries every case", (ci) => {
  expect(runs(300, ci)).toBe(300);
});

test.each([undefined, "", "0", "false"])("elsewhere (CI=%s) it tries a tenth of the cases, and at least one", (ci) => {
  expect(runs(300, ci)).toBe(30);
  expect(runs(4, ci)).toBe(1);
});
