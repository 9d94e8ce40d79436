import { describe, expect, test } from "vitest";
import { environmentIn, withEnvironment } from "../src/data/environment-link.ts";
import { mistakesIn } from "../src/pages/address-mistakes.ts";

describe("Addresses of the page", () => {
  test.each([
    ["/", "/?env=preview"],
    ["/ui/runs/01J", "/ui/runs/01J?env=preview"],
    ["/ui/runs?status=FAILED&function=shop-order", "/ui/runs?status=FAILED&function=shop-order&env=preview"],
    ["/ui/runs/01J?x=1#steps", "/ui/runs/01J?x=1&env=preview#steps"],
    ["/ui/runs/01J?env=production", "/ui/runs/01J?env=production"],
    ["/errors/NOT_FOUND", "/errors/NOT_FOUND"],
    ["#main", "#main"],
    ["https://example.com/ui/runs", "https://example.com/ui/runs"],
  ])("%s names the environment: %s", (href, expected) => {
    expect(withEnvironment(href, "preview")).toBe(expected);
  });

  test("name no environment where it is the default one", () => {
    expect(withEnvironment("/ui/runs", "")).toBe("/ui/runs");
    expect([environmentIn("?env=default"), environmentIn("?status=FAILED"), environmentIn("?env=feature%2Fx")]).toEqual(
      ["", null, "feature/x"],
    );
    expect(withEnvironment("/ui/runs", "feature/x")).toBe("/ui/runs?env=feature%2Fx");
  });

  test("of the list of runs take the environment for no filter", () => {
    expect(mistakesIn(new URLSearchParams("env=preview&status=FAILED"))).toEqual([]);
  });
});
