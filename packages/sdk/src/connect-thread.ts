/** The connection thread's entry: what `new Worker(...)` runs. */
import { parentPort } from "node:worker_threads";
import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { createEmergencyChannel } from "./connect/thread/emergency.ts";
import { openWebSocket } from "./connect/thread/gateway-socket.ts";
import { createLooks } from "./connect/thread/looks.ts";
import { captureMainStack } from "./connect/thread/main-stack.ts";
import { listenToSignals } from "./connect/thread/process-signals.ts";
import { runThread } from "./connect/thread/run-thread.ts";
import { createSourceMaps } from "./connect/thread/source-maps.ts";
import { endAfterLooks } from "./connect/thread/thread-end.ts";

if (parentPort === null) {
  throw new Error("connect-thread is Holdfast's own worker thread and is started by connect(), not by hand.");
}

const looks = createLooks();
runThread(parentPort, {
  clock: systemClock,
  timers: systemTimers,
  random: systemRandom,
  fetch: (url, init) => fetch(url, init),
  openWebSocket,
  stalls: { emergency: createEmergencyChannel(), capture: captureMainStack, looks, maps: createSourceMaps() },
  listenToSignals,
  exit: endAfterLooks(looks),
});
