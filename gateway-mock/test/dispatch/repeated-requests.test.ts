import { deferred } from "@holdfast/core";
import { expect, test } from "vitest";
import { MAX_WAITING_REPEATS, RepeatedRequests } from "../../src/dispatch/events/repeated-requests.ts";

test("repeats of a request come one after the other, and so many of them at most", async () => {
  const requests = new RepeatedRequests();
  const held = deferred<void>();
  const seen: string[] = [];
  const first = requests.inTurn("a", async (isRepeat) => {
    seen.push(`first ${isRepeat}`);
    await held.promise;
    throw new Error("It fails.");
  });
  const repeats = Array.from({ length: MAX_WAITING_REPEATS }, (_, n) =>
    requests.inTurn("a", async (isRepeat) => void seen.push(`${n} ${isRepeat}`)),
  );
  await expect(requests.inTurn("a", () => Promise.resolve())).rejects.toMatchObject({ code: "STORE_FAILED" });
  expect(await requests.inTurn("b", (isRepeat) => Promise.resolve(isRepeat))).toBe(false);
  expect(seen).toEqual(["first false"]);
  held.resolve();
  await expect(first).rejects.toThrow("It fails.");
  await Promise.all(repeats);
  expect(seen).toEqual(["first false", ...repeats.map((_, n) => `${n} true`)]);
  expect(await requests.inTurn("a", (isRepeat) => Promise.resolve(isRepeat))).toBe(false);
});
