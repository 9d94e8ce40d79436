import { describe, expect, test } from "vitest";
import { type EventList, NO_EVENTS, withNewest, withOlder } from "../src/data/event-rows.ts";
import type { EventPage } from "../src/data/event-types.ts";

const page = (ids: string, nextCursor: string | null): EventPage => ({
  events: Array.from(ids, (id) => ({ id, name: "n", receivedMs: 0, runIds: [], runCount: 0 })),
  nextCursor,
});
const shown = ({ events, nextCursor }: EventList): string => `${events.map(({ id }) => id).join("")} ${nextCursor}`;

describe("The list of events, whose newest page is read anew", () => {
  const first = withNewest(NO_EVENTS, page("x", "p"), "z");

  test("keeps what was looked through since, also where it held nothing", () => {
    const older = withOlder(withOlder(first, page("", "k")), page("f", "d"));
    expect(shown(older)).toBe("xf d");
    expect(shown(withNewest(older, page("yx", "q"), "zz"))).toBe("yxf d");
    expect(shown(withNewest(older, page("x", "p"), "z"))).toBe("xf d");
  });

  test("keeps how far it has looked while there is no event yet", () => {
    const none = withOlder(withNewest(NO_EVENTS, page("", "p"), "z"), page("", "k"));
    expect(shown(withNewest(none, page("", "q"), "zz"))).toBe(" k");
  });

  test("has the end where it was found", () => {
    const all = withOlder(first, page("f", null));
    expect(shown(withNewest(all, page("yx", "q"), "zz"))).toBe("yxf null");
  });

  test("begins anew where the page does not reach what was shown", () => {
    expect(shown(withNewest(first, page("9", "z1"), "zz"))).toBe("9 z1");
    const dense = withNewest(NO_EVENTS, page("dcb", "b"), "");
    expect(shown(withNewest(dense, page("hgf", "f"), ""))).toBe("hgf f");
    expect(shown(withNewest(dense, page("edc", "c"), ""))).toBe("edcb b");
  });

  test("leaves out what the page no longer has", () => {
    const dense = withNewest(NO_EVENTS, page("dcba", "a"), "");
    expect(shown(withNewest(dense, page("edb", "b"), ""))).toBe("edba a");
    expect(shown(withNewest(dense, page("d", null), ""))).toBe("d null");
  });
});
