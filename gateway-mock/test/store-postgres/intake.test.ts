import { expect, it } from "vitest";
import { eventItem } from "../../../packages/store/test/contract/intake.ts";
import { useStore } from "./harness.ts";

const bench = useStore();

it("an event is new again when its key is older than 24 hours", async () => {
  const first = eventItem("order-3");
  await bench.store.intake([first]);
  await bench.db
    .sql`UPDATE holdfast.event_keys SET received_at = received_at - interval '24 hours 1 second' WHERE key = 'order-3'`;
  const later = eventItem("order-3");
  expect(await bench.store.intake([later])).toMatchObject([{ eventId: later.event.id, duplicate: false }]);
  expect(await bench.store.intake([eventItem("order-3")])).toMatchObject([
    { eventId: later.event.id, duplicate: true },
  ]);
});

it("wake-ups resume after the listening connection broke", async () => {
  const other = bench.another();
  let alls = 0;
  let heard: (() => void) | undefined;
  const again = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const stop = other.onWake((wake) => {
    if (wake.type !== "ANYTHING") return;
    alls += 1;
    if (alls === 2) heard?.();
    else
      void bench.db.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'holdfast-gateway listener'`.execute();
  });
  await again;
  stop();
});
