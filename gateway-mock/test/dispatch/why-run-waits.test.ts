import { expect, test } from "vitest";
import { type WaitingFacts, whyRunWaits } from "../../src/dispatch/admission/why-run-waits.ts";

const served = { version: "2", queue: "gpu", isConnected: true, isOpen: true };
const older = { version: "1", queue: "default", isConnected: true, isOpen: true };
const FACTS: WaitingFacts = {
  dueInMs: 0,
  dueMs: Date.UTC(2026, 0, 1),
  appId: "shop",
  begunBy: null,
  versionPolicy: "prefer",
  versions: [served, older],
  hasRoom: true,
  isLimited: false,
  isDraining: false,
  isPaused: false,
};
const gone = { ...served, isConnected: false, isOpen: false };
const goneToo = { ...older, isConnected: false, isOpen: false };

test.each<[string, Partial<WaitingFacts>, string | null, RegExp | null]>([
  ["it is about to be claimed", {}, null, null],
  ["its function is paused", { isPaused: true, versions: [gone] }, "FUNCTION_PAUSED", /paused/],
  ["no worker serves the queue", { versions: [gone, goneToo] }, "NO_WORKER_IN_QUEUE", /"shop" serves the queue "gpu"/],
  ["an older version may begin it", { versions: [gone, older] }, null, null],
  ["no worker serves it, and it is not due", { versions: [gone], dueInMs: 5 }, "NO_WORKER_IN_QUEUE", /"gpu"/],
  [
    "strict, and its version is not connected",
    { versionPolicy: "strict", begunBy: "1", versions: [served, goneToo] },
    "VERSION",
    /version "1" of the app "shop"/,
  ],
  [
    "strict, and no worker of any version is connected: the queue of its own",
    { versionPolicy: "strict", begunBy: "1", versions: [gone, goneToo] },
    "NO_WORKER_IN_QUEUE",
    /"default"/,
  ],
  ["another version may go on with it", { begunBy: "1", versions: [served, goneToo] }, null, null],
  ["it is not due", { dueInMs: 5 }, "NOT_DUE", /2026-01-01T00:00:00.000Z/],
  ["the gateway shuts down", { isDraining: true }, "GATEWAY_DRAINING", /shutting down/],
  ["all workers are paused", { versions: [{ ...served, isOpen: false }, goneToo] }, "NO_ROOM", /are paused/],
  ["all workers are busy", { hasRoom: false, isLimited: true }, "NO_ROOM", /busy/],
  ["its limits are used up", { isLimited: true }, "LIMITS", /limits/],
])("a run says why it waits: %s", (_what, change, reason, message) => {
  const waiting = whyRunWaits({ ...FACTS, ...change });
  expect(waiting?.reason ?? null).toBe(reason);
  if (message) expect(waiting?.message).toMatch(message);
});
