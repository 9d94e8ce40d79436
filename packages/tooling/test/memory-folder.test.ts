import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { temporaryParent } from "../src/memory-folder.mjs";
import { fixture } from "./fixture.ts";

test("suites keep their temporary files in TMPDIR", () => {
  expect(temporaryParent({ TMPDIR: tmpdir() })).toBe(tmpdir());
});

test("a missing folder, or one on a disk, is not used as memory", () => {
  expect(temporaryParent({}, fixture({}))).toBe(tmpdir());
  expect(temporaryParent({}, "/nowhere")).toBe(tmpdir());
});
