import { AsyncLocalStorage } from "node:async_hooks";
import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, expect, test } from "vitest";
import type { LeaseMessage, StepStartMessage } from "../../src/diagnostics/channels.ts";
import { PublishedChannel } from "../../src/diagnostics/publisher.ts";

const lease: LeaseMessage = {
  instanceId: "i",
  requestId: "r",
  runId: "run",
  functionSlug: "f",
  type: "extended",
  leaseId: "l",
  atMs: 1,
};
const start: StepStartMessage = {
  requestId: "r",
  runId: "run",
  functionSlug: "f",
  stepId: "s",
  stepHash: "h",
  kind: "run",
  attempt: 0,
  startedAtMs: 1,
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function listen(name: string, onMessage: (message: unknown) => void): void {
  subscribe(name, onMessage);
  cleanups.push(() => unsubscribe(name, onMessage));
}

function warnings(): Error[] {
  const seen: Error[] = [];
  const onWarning = (warning: Error): void => void seen.push(warning);
  process.on("warning", onWarning);
  cleanups.push(() => process.off("warning", onWarning));
  return seen;
}

test("a channel is heard while something subscribes to it, and then gets what is published", () => {
  const published = new PublishedChannel("holdfast:lease");
  expect(published.isHeard).toBe(false);
  const seen: unknown[] = [];
  listen("holdfast:lease", (message) => seen.push(message));
  expect(published.isHeard).toBe(true);
  published.publish(lease);
  expect(seen).toEqual([lease]);
});

test("a subscriber that was there before the channel was used gets what is published", () => {
  const seen: unknown[] = [];
  listen("holdfast:step:end", (message) => seen.push(message));
  const published = new PublishedChannel("holdfast:step:end");
  expect(published.isHeard).toBe(true);
});

test("a subscriber that throws becomes a warning, once for each message, and the others are told", async () => {
  const seen: unknown[] = [];
  const heard = warnings();
  listen("holdfast:lease", () => {
    throw new Error("out of metrics");
  });
  listen("holdfast:lease", (message) => seen.push(message));
  const published = new PublishedChannel("holdfast:lease");
  published.publish(lease);
  published.publish(lease);
  await nextTurn();
  expect(seen).toEqual([lease, lease]);
  expect(heard).toMatchObject([
    { message: "A subscriber of holdfast:lease threw: out of metrics", code: "LISTENER_FAILED" },
  ]);
  expect(process.hasUncaughtExceptionCaptureCallback()).toBe(false);
});

test("a subscriber that publishes and throws is named by its own channel", async () => {
  const heard = warnings();
  const [outer, inner] = [new PublishedChannel("holdfast:step:start"), new PublishedChannel("holdfast:lease")];
  listen("holdfast:step:start", () => {
    inner.publish(lease);
    throw new Error("outer failed");
  });
  listen("holdfast:lease", () => {
    throw new Error("inner failed");
  });
  outer.publish(start);
  await nextTurn();
  expect(heard.map(({ message }) => message)).toEqual([
    "A subscriber of holdfast:lease threw: inner failed",
    "A subscriber of holdfast:step:start threw: outer failed",
  ]);
});

test("what the published code itself leaves behind is not taken for a subscriber's", async () => {
  const published = new PublishedChannel("holdfast:step:start");
  const inSubscriber: boolean[] = [];
  const inCode: boolean[] = [];
  const look = (into: boolean[]) => process.nextTick(() => into.push(process.hasUncaughtExceptionCaptureCallback()));
  listen("holdfast:step:start", () => look(inSubscriber));
  published.publishAround(start, () => look(inCode));
  await nextTurn();
  expect({ inSubscriber, inCode }).toEqual({ inSubscriber: [true], inCode: [false] });
});

test("an app that catches all exceptions itself gets those of its subscribers as well", async () => {
  const caught: Error[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => caught.push(error));
  cleanups.push(() => process.setUncaughtExceptionCaptureCallback(null));
  listen("holdfast:lease", () => {
    throw new Error("theirs");
  });
  new PublishedChannel("holdfast:lease").publish(lease);
  await nextTurn();
  expect(caught.map(({ message }) => message)).toEqual(["theirs"]);
  expect(process.hasUncaughtExceptionCaptureCallback()).toBe(true);
});

test("code that is published around sees what subscribers have bound to the channel", () => {
  const spans = new AsyncLocalStorage<string>();
  const bound = channel("holdfast:step:start");
  bound.bindStore(spans, (message) => `span of ${(message as StepStartMessage).stepId}`);
  cleanups.push(() => bound.unbindStore(spans));
  const published = new PublishedChannel("holdfast:step:start");
  expect(published.publishAround(start, () => spans.getStore())).toBe("span of s");
  expect(spans.getStore()).toBeUndefined();
});

test("code is called once when nothing listens", () => {
  let calls = 0;
  expect(new PublishedChannel("holdfast:step:start").publishAround(start, () => (calls += 1))).toBe(1);
});
