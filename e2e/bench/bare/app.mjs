/** The least that a worker could do: a thread has the socket, the main thread computes, and both know nothing of failures. */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { WebSocket } from "ws";

if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), { workerData: process.argv[2] });
  thread.on("message", (message) => {
    if (message.event === undefined) process.send?.(message);
    else setImmediate(() => thread.postMessage({ id: message.id, output: JSON.stringify(message.event.data) }));
  });
  process.on("SIGTERM", () => process.exit());
} else {
  const socket = new WebSocket(`ws://127.0.0.1:${workerData}`);
  socket.on("open", () => parentPort?.postMessage({ ready: true }));
  socket.on("message", (message) => parentPort?.postMessage(JSON.parse(String(message))));
  parentPort?.on("message", (message) => socket.send(JSON.stringify(message)));
}
