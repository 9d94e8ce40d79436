import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BroadcastChannel } from "node:worker_threads";
import { startReaper, temporaryFolder } from "../../../tooling/src/processes.mjs";
import { loadThreadScript } from "../../src/thread-script.ts";
import { type OpenChanges, type Opened, openTest } from "./harness.ts";

// Checks for leaks in single tests would take it for theirs.
startReaper();

/** How a thread can end without being asked to; one that hangs is as good as dead. One that naps goes on after `wake`,
 * and so does one in native code, which nothing else gets out of it. */
export type Death = "exit" | "throw" | "reject" | "out of memory" | "hang" | "native" | "nap";

export interface Killable extends Opened {
  /** Ends the thread that lives now. */
  kill(how?: Death): void;
  /**
   * Ends a thread when it comes to this moment, once: "at start", or "before" and "after" a message from main ("after
   * INIT") or to main ("before posting REPLY_ACKED"), to a thread of the pool ("after giving SYNC") or from one ("before
   * hearing TURN_BEGUN").
   */
  dieAt(moment: string, how?: Death): void;
  /** Whether the moment that was ordered has not come yet. */
  readonly pending: boolean;
  readonly hangs: boolean;
  readonly naps: boolean;
  wake(): void;
}

/** With this limit running out of memory takes a moment and not the machine's last byte. */
export const SMALL_MEMORY = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 } as const;

/** The real script, and around it a way to end the thread from outside, at any moment of its life. */
export async function openKillable(
  url: string,
  changes: OpenChanges,
  first?: { readonly moment: string; readonly how?: Death },
): Promise<Killable> {
  const channel = `kill-${randomUUID()}`;
  const { path: folder, remove } = temporaryFolder("holdfast-killable-");
  const order = join(folder, "order");
  const fifo = `${order}.fifo`;
  let held: number | undefined;
  const dieAt = (moment: string, how: Death = "exit"): void => writeFileSync(order, JSON.stringify({ moment, how }));
  if (first) dieAt(first.moment, first.how);
  const script = { text: trap(channel, order) + (await loadThreadScript()) };
  const opened = await openTest(url, { ...changes, script });
  void opened.connection.closed.then(remove, remove);
  return {
    ...opened,
    dieAt,
    get pending() {
      return existsSync(order);
    },
    get hangs() {
      return existsSync(`${order}.hangs`);
    },
    get naps() {
      return existsSync(`${order}.naps`);
    },
    wake: () => {
      rmSync(`${order}.naps`, { force: true });
      // Whoever reads at its other end is at its end.
      if (held !== undefined) closeSync(held);
      held = undefined;
    },
    kill: (how = "exit") => {
      if (how === "native") {
        execFileSync("/usr/bin/env", ["mkfifo", fifo]);
        held = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
      }
      const out = new BroadcastChannel(channel);
      out.postMessage(how);
      out.close();
    },
  };
}

/** Runs before the thread's own code, and stands between it and main. */
function trap(channel: string, order: string): string {
  return `{
    const { BroadcastChannel, parentPort } = require("node:worker_threads");
    const { existsSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
    const still = new Int32Array(new SharedArrayBuffer(4));
    const napping = ${JSON.stringify(order)} + ".naps";
    const deaths = {
      exit: () => process.exit(7),
      throw: () => { throw new Error("boom"); },
      reject: () => void Promise.reject(new Error("boom")),
      hang: () => { writeFileSync(${JSON.stringify(order)} + ".hangs", ""); for (;;); },
      native: () => {
        writeFileSync(${JSON.stringify(order)} + ".hangs", "");
        readFileSync(${JSON.stringify(order)} + ".fifo");
      },
      nap: () => { writeFileSync(napping, ""); while (existsSync(napping)) Atomics.wait(still, 0, 0, 5); },
      "out of memory": () => { for (const hog = []; ; ) hog.push(Array.from({ length: 1000 }, () => ({ a: Math.random() }))); },
    };
    const come = (moment) => {
      let ordered;
      try { ordered = JSON.parse(readFileSync(${JSON.stringify(order)}, "utf8")); } catch { return; }
      if (ordered.moment !== moment) return;
      rmSync(${JSON.stringify(order)});
      deaths[ordered.how]();
    };
    come("at start");
    const channel = new BroadcastChannel(${JSON.stringify(channel)});
    channel.onmessage = ({ data }) => setImmediate(deaths[data]);
    channel.unref();
    const on = parentPort.on.bind(parentPort);
    parentPort.on = (name, listener) => on(name, name !== "message" ? listener : (posted) => {
      const messages = [posted].flat();
      for (const { type } of messages) come("before " + type);
      listener(posted);
      for (const { type } of messages) come("after " + type);
    });
    // The ports to the threads of a pool.
    const { MessagePort } = require("node:worker_threads");
    const { postMessage: give, on: hear } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (message, ...rest) {
      if (this === parentPort) return give.call(this, message, ...rest);
      come("before giving " + message.type);
      give.call(this, message, ...rest);
      come("after giving " + message.type);
    };
    MessagePort.prototype.on = function (name, listener) {
      if (this === parentPort || name !== "message") return hear.call(this, name, listener);
      return hear.call(this, name, (message) => {
        come("before hearing " + message.type);
        listener(message);
        come("after hearing " + message.type);
      });
    };
    const post = parentPort.postMessage.bind(parentPort);
    parentPort.postMessage = (posted, transfer) => {
      const messages = [posted].flat();
      for (const { type } of messages) come("before posting " + type);
      post(posted, transfer);
      for (const { type } of messages) come("after posting " + type);
    };
  }\n`;
}
