import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { temporaryParent } from "../src/memory-folder.mjs";
import { fixture } from "./fixture.ts";

test("suites keep their temporary files where TMPDIR says", () => {
  expect(temporaryParent({ TMPDIR: tmpdir() })).toBe(tmpdir());
});

test("a folder on a disk, or one that is not there, is no memory", () => {
  expect(temporaryParent({}, fixture({}))).toBe(tmpdir());
  expect(temporaryParent({}, "/nowhere")).toBe(tmpdir());
});
