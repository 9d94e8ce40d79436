import { afterEach, expect, test, vi } from "vitest";
import { waitFor } from "../src/index.ts";

afterEach(() => vi.unstubAllEnvs());

test("waitFor resolves with the first truthy value of its condition", async () => {
  let looks = 0;
  const answer = await waitFor(() => (++looks < 3 ? undefined : { looks }), { what: "three looks", intervalMs: 1 });
  expect(answer).toEqual({ looks: 3 });
});

test.each(["0", "-1", "soon", "1.5"])("a default timeout of %j is refused in words", async (given) => {
  vi.stubEnv("HOLDFAST_TEST_TIMEOUT_MS", given);
  await expect(waitFor(() => true, { what: "it" })).rejects.toThrow(
    `HOLDFAST_TEST_TIMEOUT_MS is "${given}": give a whole number of milliseconds.`,
  );
});

test("where a call does not say how long to wait, the environment does", async () => {
  vi.stubEnv("HOLDFAST_TEST_TIMEOUT_MS", "1");
  await expect(waitFor(() => 0, { what: "one", intervalMs: 1 })).rejects.toThrow("waiting for one");
});

test("waitFor ignores errors until the time is up, then reports the last one", async () => {
  const never = waitFor(
    () => {
      throw new Error("no table");
    },
    { what: "the table", timeoutMs: 30, intervalMs: 5, context: () => "log: all quiet" },
  );
  await expect(never).rejects.toMatchObject({
    code: "TEST_TIMEOUT",
    message: expect.stringMatching(/waiting for the table .*It last failed: no table\nlog: all quiet/),
  });
  await expect(waitFor(() => 0, { what: "one", timeoutMs: 5 })).rejects.toThrow(/It last returned 0/);
});
