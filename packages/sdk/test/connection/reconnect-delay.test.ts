import { expect, test } from "vitest";
import { RECONNECT_BACKOFF } from "../../src/connection/main/resolve-options.ts";
import { MAX_WAIT_WITH_WORK_MS, reconnectDelayMs } from "../../src/connection/thread/reconnect-delay.ts";

const { cloud } = RECONNECT_BACKOFF;
const longest = (hasWork: boolean, atLeastMs = 0): number =>
  reconnectDelayMs(cloud, { failures: 20, atLeastMs, hasWork }, () => 0.999);

test("an idle worker comes back within half a minute, one with work within two seconds", () => {
  expect(longest(false)).toBe(cloud.maxMs);
  expect(longest(true)).toBe(MAX_WAIT_WITH_WORK_MS);
});

test("the first attempts are as quick with work as without", () => {
  for (const failures of [1, 2, 3]) {
    const [idle, busy] = [false, true].map((hasWork) =>
      reconnectDelayMs(cloud, { failures, atLeastMs: 0, hasWork }, () => 0.5),
    );
    expect(busy).toBe(idle);
  }
});

test("what the gateway asks for is waited for", () => {
  expect(longest(true, 5_000)).toBeGreaterThanOrEqual(5_000);
});
