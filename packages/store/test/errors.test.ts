import { HoldfastError, toPlainError } from "@holdfast/core";
import { expect, test } from "vitest";
import { isOutdated, isRefusedForData, levelFor, StoreError, type StoreFailure } from "../src/index.ts";

const errorOf = (reason: StoreFailure): StoreError => new StoreError(reason, "It failed.");

test("the reason of a store's error alone says what callers do about it", () => {
  const reasons: readonly StoreFailure[] = ["unavailable", "data", "outdated", "closed", "other"];
  expect(reasons.map((reason) => levelFor(errorOf(reason), "warn"))).toEqual([
    "debug",
    "warn",
    "warn",
    "debug",
    "warn",
  ]);
  expect(reasons.filter((reason) => isRefusedForData(errorOf(reason)))).toEqual(["data"]);
  expect(reasons.filter((reason) => isOutdated(errorOf(reason)))).toEqual(["outdated"]);
});

test("an error that is not a store's is an outage of the database for none of its callers", () => {
  for (const error of [new HoldfastError("STORE_FAILED", "It conflicted."), new Error("connection"), null]) {
    expect(levelFor(error, "error")).toBe("error");
    expect(isRefusedForData(error) || isOutdated(error)).toBe(false);
  }
});

test("a store's error is one of the catalogue, and as plain data it has no reason", () => {
  const error = new StoreError("data", "It failed.", { cause: new Error("22P05") });
  expect(HoldfastError.is(error)).toBe(true);
  expect(toPlainError(error)).toMatchObject({
    code: "STORE_FAILED",
    message: "It failed.",
    cause: { message: "22P05" },
  });
  expect(toPlainError(error)).not.toHaveProperty("data");
});
