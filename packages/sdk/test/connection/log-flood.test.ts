import { expect, it } from "vitest";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import { COUNTERS_BYTES, sharedCounters } from "../../src/connection/shared/shared-counters.ts";
import { createPortLogger } from "../../src/connection/thread/port-logger.ts";

it("log records that main does not read are dropped and counted instead of queued", () => {
  const counters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
  // Near the end of its 32 bits: it may wrap.
  counters.addLogsTaken(2_147_483_600);
  const posted: ThreadMessage[] = [];
  const logger = createPortLogger({ post: (message) => posted.push(message) }, counters);
  for (let record = 0; record < 100_000; record += 1) logger.log("info", `record ${record}`);
  const waiting = posted.length;
  expect(waiting).toBeLessThanOrEqual(1_000);
  expect(logger.dropped).toBe(100_000 - waiting);
  counters.addLogsTaken(waiting);
  logger.log("info", "the next one");
  expect(posted.slice(waiting)).toMatchObject([
    { type: "LOG", level: "warn", message: expect.stringContaining(`${100_000 - waiting} log records`) },
    { type: "LOG", level: "info", message: "the next one" },
  ]);
});
