import { afterEach, expect, test, vi } from "vitest";
import { DOCS_ADDRESS, errorPage } from "../src/docs-address.ts";

afterEach(() => {
  vi.doUnmock("../src/docs-address.ts");
  vi.resetModules();
});

/** The class of errors where the documentation has this address. */
async function errorsAt(address: string): Promise<typeof import("../src/errors.ts").HoldfastError> {
  vi.resetModules();
  vi.doMock("../src/docs-address.ts", () => ({ errorPage: (code: string) => errorPage(code, address) }));
  return (await import("../src/errors.ts")).HoldfastError;
}

test("the address is empty, or an address with a slash at its end", () => {
  expect(DOCS_ADDRESS).toMatch(/^$|^https:\/\/.+\/$/);
});

test("an error names its page once the documentation has an address", async () => {
  const Published = await errorsAt("https://docs.example/");
  expect(new Published("OPTION_INVALID", "No.").docs).toBe("https://docs.example/errors.html#option_invalid");
});

test("an error has no field for its page while there is no address", async () => {
  const Unpublished = await errorsAt("");
  expect(Object.keys(new Unpublished("OPTION_INVALID", "No."))).not.toContain("docs");
});
