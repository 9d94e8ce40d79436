import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import { safeMessage } from "../../src/store-postgres/connection/pg-errors.ts";
import { maskPasswords } from "../../src/store-postgres/connection/url-passwords.ts";

const urlWith = (password: string): string => `postgres://shop:${encodeURIComponent(password)}@db.internal:5432/orders`;

test.each([
  ["x", "could not extend file"],
  ["postgres", 'role "postgres" does not exist; postgres://db'],
  ["password", 'password authentication failed for user "shop"'],
  ["orders", 'database "orders" does not exist'],
  ["5432", "connect ECONNREFUSED 127.0.0.1:5432"],
  ["db.internal", "getaddrinfo ENOTFOUND db.internal"],
])("the password %s does not garble what an error says", (password, message) => {
  expect(safeMessage(new Error(message), urlWith(password))).toBe(message);
});

test.each([
  ["as it was given", "postgres://shop:p%40ss%2F1@db/orders", "p%40ss%2F1"],
  ["decoded", "postgres://shop:p%40ss%2F1@db/orders", "p@ss/1"],
  ["of one letter", "postgres://shop:x@db/orders", "x"],
  ["with characters that need no code", "postgres://shop:a'b(c)@db/orders", "a'b(c)"],
  ["with an @ that is not encoded", "postgres://shop:p@ss@db/orders", "p@ss"],
  ["with a slash that is not encoded", "postgres://shop:p/ss@db/orders", "p/ss"],
  ["where there is no user", "postgres://:hidden@db/orders", "hidden"],
])("within an address a password is masked: %s", (_what, url, password) => {
  const said = `cannot open postgres://shop:${password}@db/orders, nor ${url}: refused`;
  const user = url.includes("//:") ? "" : "shop";
  expect(maskPasswords(said, url)).toBe(
    `cannot open postgres://shop:***@db/orders, nor postgres://${user}:***@db/orders: refused`,
  );
});

test("the password of another address is masked, too, and one that is a parameter", () => {
  const said = "cannot open postgres://a:b@c/d?sslmode=require&password=secret&x=1 (postgres://e/f)";
  expect(maskPasswords(said, "postgres://h/d")).toBe(
    "cannot open postgres://a:***@c/d?sslmode=require&password=***&x=1 (postgres://e/f)",
  );
});

test("a long password that is no word is masked wherever it stands alone", () => {
  const url = urlWith("k3-secret/9");
  expect(maskPasswords('refused "k3-secret/9" (k3-secret%2F9), but not k3-secret/99', url)).toBe(
    'refused "***" (***), but not k3-secret/99',
  );
});

const PASSWORD = fc.string({ minLength: 1, maxLength: 30, unit: "grapheme" }).filter((text) => !/^\s+$/.test(text));
const WORDS = ["could", "not", "extend", "file", "connection", "to", "user", '"shop"', "orders", "5432", "failed:"];
const SENTENCE = fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(" "));

test("whatever the password, no address shows it, and sentences without one stay as they are", () => {
  fc.assert(
    fc.property(PASSWORD, SENTENCE, SENTENCE, (password, before, after) => {
      const url = urlWith(password);
      expect(maskPasswords(`${before} ${url} ${after}`, url)).toBe(
        `${before} postgres://shop:***@db.internal:5432/orders ${after}`,
      );
      expect(maskPasswords(`${before} ${after}`, url)).toBe(`${before} ${after}`);
    }),
    { numRuns: runs(500) },
  );
});
