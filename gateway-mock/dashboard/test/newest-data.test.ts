import { expect, test, vi } from "vitest";
import type { EventPage } from "../src/data/event-types.ts";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
const { newestId } = await import("../src/data/newest-data.ts");

const listed = (id: string) => ({ id, name: "n", receivedMs: 0, runIds: [], runCount: 0 });

async function found(pages: Readonly<Record<string, EventPage>>) {
  const asked: (string | null)[] = [];
  const id = await newestId(async (cursor) => {
    asked.push(cursor);
    return pages[cursor ?? ""] ?? { events: [], nextCursor: null };
  });
  return { id, asked };
}

test("the newest event of a rare name is looked for on pages that follow", async () => {
  const empty = (nextCursor: string): EventPage => ({ events: [], nextCursor });
  const pages = { "": empty("c"), c: empty("b"), b: { events: [listed("7")], nextCursor: "a" } };
  expect(await found(pages)).toEqual({ id: "7", asked: [null, "c", "b"] });
});

test("where there is none, the last page ends it", async () => {
  expect(await found({ "": { events: [], nextCursor: "c" } })).toEqual({ id: undefined, asked: [null, "c"] });
});
