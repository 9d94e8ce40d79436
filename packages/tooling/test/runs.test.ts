import { afterEach, expect, test, vi } from "vitest";
import { runs } from "../src/runs.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each(["true", "1", "yes"])("in continuous integration (CI=%s) a property test tries every case", (ci) => {
  vi.stubEnv("CI", ci);
  expect(runs(300)).toBe(300);
});

test.each([undefined, "", "0", "false"])(
  "outside continuous integration (CI=%s) a property test tries a tenth of its cases, and at least one",
  (ci) => {
    vi.stubEnv("CI", ci);
    expect(runs(300)).toBe(30);
    expect(runs(4)).toBe(1);
  },
);
