import { describe, expect, it } from "vitest";
import {
  findIsolated,
  type IsolatedOptions,
  isolated,
  isolationMarkOf,
  isolationMarks,
  moduleUrl,
} from "../../src/steps/isolated.ts";

const MODULE = "file:///app/pages.js";

describe("isolated()", () => {
  it("the function stays what it was, and is found by its module and name", () => {
    const add = (a: number, b: number): number => a + b;
    const marked = isolated(MODULE, "add", add, { budget: "20s", memoryMb: 256 });
    expect(marked(1, 2)).toBe(3);
    expect([marked.name, marked.length]).toEqual(["add", 2]);
    expect(isolationMarkOf(marked)).toEqual({ module: MODULE, name: "add", budgetMs: 20_000, memoryMb: 256 });
    expect(isolationMarkOf(add)).toBeUndefined();
    expect(isolationMarks()).toContainEqual(isolationMarkOf(marked));
    expect(findIsolated(MODULE, "add")).toBe(add);
  });

  it("a name is enough where no other module has it, since a loader may change a module's address", () => {
    const one = isolated("file:///app/one.js", "single", () => 1);
    expect(findIsolated("file:///app/one.js?loader=1", "single")?.()).toBe(1);
    isolated("file:///app/two.js", "single", () => 2);
    expect(findIsolated("file:///app/one.js?loader=1", "single")).toBeUndefined();
    expect(findIsolated("file:///app/two.js", "single")?.()).toBe(2);
    expect(one()).toBe(1);
  });

  it.each([
    ["/app/a b#c%.js", "file:///app/a%20b%23c%25.js"],
    ["C:\\app\\pages.js", "file:///C:/app/pages.js"],
    ["D:/a b/50%/pages#1.mts", "file:///D:/a%20b/50%25/pages%231.mts"],
    ["\\\\server\\share\\pages.js", "file://server/share/pages.js"],
    ["/app/with\\backslash.js", "file:///app/with%5Cbackslash.js"],
    [new URL(MODULE), MODULE],
    ["data:text/javascript,1", "data:text/javascript,1"],
  ])("the module %s is imported as %s", (given, url) => {
    expect(moduleUrl(given)).toBe(url);
  });

  it.each([
    [{ module: "./pages.js" }, "ISOLATE_MODULE_INVALID", "absolute path"],
    [{ module: undefined }, "ISOLATE_MODULE_INVALID", "import.meta.url"],
    [{ name: "" }, "ISOLATE_MODULE_INVALID", "name"],
    [{ body: "parse" }, "ISOLATE_MODULE_INVALID", "function"],
    [{ options: { budget: 0 } }, "OPTION_INVALID", "budget"],
    [{ options: { budget: "25h" } }, "OPTION_INVALID", "24 h"],
    [{ options: { budget: "soon" } }, "OPTION_INVALID", "budget"],
    [{ options: { memoryMb: 1 } }, "OPTION_INVALID", "memoryMb"],
    [{ options: { memory: 64 } }, "OPTION_INVALID", "`memory`"],
  ])("a mistake is refused when the code is marked: %j", (given, code, text) => {
    const { module, name, body, options } = { module: MODULE, name: "wrong", body: () => 1, options: {}, ...given };
    expect(() => isolated(module as string, name, body as () => number, options as IsolatedOptions)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(text) }),
    );
    expect(findIsolated(MODULE, "wrong")).toBeUndefined();
  });
});
