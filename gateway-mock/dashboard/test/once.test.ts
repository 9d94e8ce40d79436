import { beforeEach, expect, test, vi } from "vitest";

beforeEach(() => {
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
});

const load = async () => ({ ...(await import("../src/data/once.ts")), ...(await import("../src/data/api.ts")) });

/** The name under which it was asked for. */
async function nameOf(what: string, failure?: Error): Promise<string> {
  const { once } = await load();
  let used = "";
  await once(what, async ({ ulid, headers }) => {
    used = `${ulid} ${headers["x-inngest-event-id-seed"]}`;
    if (failure) throw failure;
  }).catch(() => {});
  return used;
}

test("a request is named in the forms that the gateway takes", async () => {
  expect(await nameOf("forms")).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25} \d{13},[A-Za-z0-9+/]{14}==$/);
});

test("one that was not answered has the same name when it is made again", async () => {
  const { ApiError } = await load();
  const first = await nameOf("a", new ApiError("The gateway does not answer.", "UNREACHABLE", 0));
  expect(await nameOf("b")).not.toBe(first);
  expect(await nameOf("a", new ApiError("The database is away.", "STORE_FAILED", 503))).toBe(first);
  expect(await nameOf("a")).toBe(first);
});

test("one that was answered, or refused, has a new name", async () => {
  const { ApiError } = await load();
  const names = [await nameOf("c"), await nameOf("c", new ApiError("No.", "RUN_SKIPPED", 409)), await nameOf("c")];
  expect(new Set(names).size).toBe(3);
});
