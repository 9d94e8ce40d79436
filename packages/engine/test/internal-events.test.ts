import { expect, test } from "vitest";
import { endEvents } from "../src/decide/internal-events.ts";
import { applyRow } from "../src/run/fold.ts";
import { runCreatedRow } from "../src/run/log-rows.ts";
import { emptyRun } from "../src/run/run-state.ts";
import { IDENTITY, World } from "./world.ts";

test("the end of a batch run reports all its events, with the first one as the triggering event", () => {
  const events = [1, 2, 3].map((n) => ({ id: `e${n}`, name: "shop/order", data: { n } }));
  const [first = "", ...more] = events.map((event) => JSON.stringify(event));
  for (const end of [
    { status: "COMPLETED", outputText: "7" },
    { status: "FAILED", error: { name: "Error", message: "no" } },
    { status: "CANCELLED", error: { name: "Error", message: "enough" } },
  ] as const) {
    const state = emptyRun(IDENTITY);
    applyRow(state, runCreatedRow({ maxAttempts: 1 }, first, more), 1);
    const made = endEvents(state, new World().context(), end).map(({ payload }) => JSON.parse(payload()));
    expect(made).toHaveLength(end.status === "COMPLETED" ? 1 : 2);
    for (const { data } of made) expect(data).toMatchObject({ event: events[0], events, run_id: IDENTITY.runId });
  }
});
