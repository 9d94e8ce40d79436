/** The connection thread's entry: what `new Worker(...)` runs. */
import { parentPort } from "node:worker_threads";
import { runThread } from "./connect/thread/run-thread.ts";

if (parentPort === null) {
  throw new Error("connect-thread is Holdfast's own worker thread and is started by connect(), not by hand.");
}

runThread(parentPort, (code) => process.exit(code));
