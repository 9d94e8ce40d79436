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
  [
    "connection",
    "CERT_HAS_EXPIRED SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE ERR_TLS_CERT_ALTNAME_INVALID",
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

test.each([
  [
    "Client network socket disconnected before secure TLS connection was established",
    "ECONNRESET",
    /offers no TLS.*sslmode=disable/,
  ],
  ["self-signed certificate in certificate chain", "SELF_SIGNED_CERT_IN_CHAIN", /sslrootcert=/],
  ["permission denied for schema holdfast", "42501", /--no-owner --role=/],
  ["must be owner of table runs", "42501", /--no-owner --role=/],
  ["permission denied for database shop", "42501", /GRANT CREATE ON DATABASE.*migrate/],
])("a message of the database that does not say what to do does so for users: %s", (message, code, hint) => {
  const { message: said } = storeFailed("The schema could not be read", errorOf(code, message), "");
  expect(said).toMatch(hint);
  expect(said).toMatch(new RegExp(`^The schema could not be read: ${message} \\(${code}\\); .*[^.]\\.$`));
});

test("other messages of the database stay as they are", () => {
  const { message } = storeFailed("A write", errorOf("42501", "permission denied to set parameter"), "");
  expect(message).toBe("A write: permission denied to set parameter (42501).");
});
