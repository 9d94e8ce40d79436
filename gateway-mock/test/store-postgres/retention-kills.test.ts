import { expect, test } from "vitest";
import { openPruner } from "../../src/store-postgres/retention/prune.ts";
import { AT_ONCE, bench, expectPruned, leftBehind, openOwn, pruneAll, seed, untilOver, WIDTH_MS } from "./old-runs.ts";

test("a gateway that dies before or after any statement leaves nothing behind that another one does not finish", async () => {
  for (const when of ["before", "after"] as const) {
    for (let n = 1; ; n += 1) {
      const seeded = await seed();
      await untilOver([...seeded.gone, seeded.living.runId, seeded.failed, seeded.held]);
      const database = openOwn();
      let statements = 0;
      const dies = openPruner(
        {
          ...database,
          attempt: async (text, params) => {
            statements += 1;
            if (statements === n && when === "before") throw new Error("it dies");
            const rows = await database.attempt(text, params);
            if (statements === n) throw new Error("it dies");
            return rows as never;
          },
        },
        WIDTH_MS,
      );
      const died = await dies.prune(AT_ONCE, { sinceMs: await bench.store.nowMs() }).then(
        () => false,
        () => true,
      );
      await database.close();
      await pruneAll(bench.another());
      await expectPruned(seeded);
      expect(await leftBehind()).toBe("0");
      if (!died) break;
      expect(n).toBeLessThan(100);
    }
  }
}, 300_000);
