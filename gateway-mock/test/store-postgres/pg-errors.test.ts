import { HoldfastError } from "@holdfast/core";
import { isRefusedForData, levelFor } from "@holdfast/store";
import { expect, test } from "vitest";
import { storeFailed, troubleOf } from "../../src/store-postgres/connection/pg-errors.ts";

const errorOf = (code: string, message = "trouble"): Error => Object.assign(new Error(message), { code });

test.each([
  [
    "connection",
    "ECONNREFUSED ECONNRESET CONNECTION_CLOSED 08000 08006 57P01 57P02 57P03 57P04 57P05 53300 28P01 3D000",
  ],
  ["unwritable", "25006 53000 53100 53200 53400 58000 58030 58P01 55000"],
  ["conflict", "40001 40P01 55P03 57014 25P02"],
  ["data", "22001 23505 42501 42P01 54000 XX000"],
])("Postgres errors are classified as %s: %s", (trouble, codes) => {
  for (const code of codes.split(" ")) expect(troubleOf(errorOf(code)), code).toBe(trouble);
});

test("a server without free transaction ids is unwritable, and the run is not blamed", () => {
  const error = errorOf("54000", "database is not accepting commands to avoid wraparound data loss");
  expect(troubleOf(error)).toBe("unwritable");
  expect(isRefusedForData(storeFailed("A write", error, ""))).toBe(false);
  expect(isRefusedForData(storeFailed("A write", errorOf("54000"), ""))).toBe(true);
});

test("failures during an outage are reported by the store alone", () => {
  expect(levelFor(storeFailed("A write", errorOf("25006"), ""), "error")).toBe("debug");
  expect(levelFor(storeFailed("A write", errorOf("23505"), ""), "error")).toBe("error");
  expect(levelFor(new HoldfastError("STORE_FAILED", "The store is closed."), "warn")).toBe("warn");
});
