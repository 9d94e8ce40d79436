/**
 * An isolated handler that measures the way from its pool thread to the connection thread and back, against a bare
 * ping-pong between two threads. It is evaluated in a pool thread before that gets its port, which it looks out for.
 */
import { MessagePort, Worker } from "node:worker_threads";
import { median, quantile } from "./stats.mjs";

const echo = "require('node:worker_threads').parentPort.on('message', function (m) { this.postMessage(m) });";

/** @type {MessagePort | undefined} */
let port;
let turn = 0;
/** @type {Map<number, () => void>} */
const waiting = new Map();

const { on } = MessagePort.prototype;
MessagePort.prototype.on = /** @type {any} */ (
  /** @this {MessagePort} */ function (/** @type {any} */ name, /** @type {any} */ listener) {
    if (name !== "message") return on.call(this, name, listener);
    // Workers have ports, too, which come later.
    port ??= this;
    return on.call(this, name, (/** @type {any} */ message) => {
      if (message.type === "EXECUTION_REQUEST") turn = message.turn;
      const answered = message.type === "CHECKPOINT_ACKED" ? waiting.get(message.sequence) : undefined;
      if (answered) answered();
      else listener(message);
    });
  }
);

/** On a connection without checkpoints the connection thread itself answers one. @param {any} context */
export async function roundTrips({ event }) {
  const { requestId } = /** @type {any} */ (globalThis)[Symbol.for("holdfast.currentExecution")]();
  const bare = new Worker(echo, { eval: true, execArgv: [] });
  // Those of the SDK's own checkpoints are lower.
  let sequence = 1_000_000;
  /** @param {(message: object, onAnswer: () => void) => void} post */
  const through = (post) => () =>
    new Promise((resolve) => {
      sequence += 1;
      const ops = Uint8Array.from([91, 93]);
      post({ type: "CHECKPOINT", version: 1, turn, requestId, sequence, ops }, () => resolve(undefined));
    });
  const throughBare = through((message, onAnswer) => {
    bare.once("message", onAnswer);
    bare.postMessage(message);
  });
  const throughThread = through((message, onAnswer) => {
    const { sequence: own } = /** @type {{ sequence: number }} */ (message);
    waiting.set(own, () => {
      waiting.delete(own);
      onAnswer();
    });
    port?.postMessage(message);
  });
  /** @type {{ bare: number[], thread: number[] }} */
  const us = { bare: [], thread: [] };
  for (let warm = 0; warm < 500; warm++) {
    await throughBare();
    await throughThread();
  }
  // One of each in turn: how fast a sleeping core wakes up decides much of it, and that changes from moment to moment.
  for (let done = 0; done < event.data.count; done++) {
    us.bare.push(await timed(throughBare));
    us.thread.push(await timed(throughThread));
  }
  await bare.terminate();
  return { bareUs: median(us.bare), threadUs: median(us.thread), threadP99Us: quantile(us.thread, 0.99) };
}

/** @param {() => Promise<unknown>} act */
async function timed(act) {
  const from = performance.now();
  await act();
  return 1000 * (performance.now() - from);
}
