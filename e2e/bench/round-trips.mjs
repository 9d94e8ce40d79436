/**
 * A message to the connection thread and its answer, against a bare ping-pong with a thread that does nothing. Both in
 * turns, in the app's process, so that whatever the machine does meanwhile happens to both.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

const echo = "require('node:worker_threads').parentPort.on('message', function (m) { this.postMessage(m) });";

/**
 * @param {Worker} thread the SDK's connection thread
 * @param {string} requestId of a request that is in flight, on a connection without checkpoints
 * @param {number} count round trips of each kind
 * @returns {Promise<{ bareUs: number[], threadUs: number[] }>} microseconds, one for each
 */
export async function measureRoundTrips(thread, requestId, count) {
  const bare = new Worker(echo, { eval: true, execArgv: [] });
  await once(bare, "online");
  const ops = new TextEncoder().encode("[]");
  let sequence = 0;
  // Where the gateway knows no checkpoints, the thread itself answers one. It takes the way of every other message, through
  // both ends of the SDK's protocol, and the way back.
  const through = (/** @type {Worker} */ worker) => () => {
    sequence += 1;
    const message = { type: "CHECKPOINT", requestId, sequence, ops: Uint8Array.from(ops) };
    return answered(worker, message, (answer) => answer.sequence === sequence);
  };
  const [throughBare, throughThread] = [through(bare), through(thread)];
  /** @type {{ bareUs: number[], threadUs: number[] }} */
  const result = { bareUs: [], threadUs: [] };
  for (let warm = 0; warm < 500; warm++) {
    await throughBare();
    await throughThread();
  }
  // One of each in turn: how fast a sleeping core wakes up decides much of it, and that changes from moment to moment.
  for (let done = 0; done < count; done++) {
    result.bareUs.push(await timed(throughBare));
    result.threadUs.push(await timed(throughThread));
  }
  await bare.terminate();
  return result;
}

/**
 * @param {Worker} worker
 * @param {object} message
 * @param {(answer: any) => boolean} matches
 */
function answered(worker, message, matches) {
  return new Promise((resolve) => {
    const listen = (/** @type {any} */ posted) => {
      if (!(Array.isArray(posted) ? posted : [posted]).some(matches)) return;
      worker.off("message", listen);
      resolve(undefined);
    };
    worker.on("message", listen);
    worker.postMessage(message);
  });
}

/** @param {() => Promise<unknown>} action */
async function timed(action) {
  const start = performance.now();
  await action();
  return (performance.now() - start) * 1000;
}
