import { it } from "vitest";
import { useStore } from "./harness.ts";

const bench = useStore();

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
