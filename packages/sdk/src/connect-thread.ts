/** The connection thread's entry: what `new Worker(...)` runs. */
import { parentPort, receiveMessageOnPort } from "node:worker_threads";
import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { createEmergencyChannel } from "./connection/thread/emergency.ts";
import { openWebSocket } from "./connection/thread/gateway-socket.ts";
import { createInspectorSessions, endAfterInspection } from "./connection/thread/inspector-sessions.ts";
import { createMainCpu } from "./connection/thread/main-cpu.ts";
import { captureMainStack } from "./connection/thread/main-stack.ts";
import { postByNodeHttp } from "./connection/thread/node-http.ts";
import { listenToSignals } from "./connection/thread/process-signals.ts";
import { readProcessState } from "./connection/thread/process-state.ts";
import { runThread } from "./connection/thread/run-thread.ts";
import { createSourceMaps } from "./connection/thread/source-maps.ts";

if (parentPort === null) {
  throw new Error("connect-thread is Holdfast's connection thread; connect() starts it. Do not run it directly.");
}

const { bun, deno } = process.versions;
const inspectorSessions = createInspectorSessions();
runThread(parentPort, {
  clock: systemClock,
  timers: systemTimers,
  random: systemRandom,
  post: postByNodeHttp,
  openWebSocket,
  stalls: {
    emergency: createEmergencyChannel(),
    capture: captureMainStack,
    inspectorSessions,
    maps: createSourceMaps(),
    mainCpu: (task) => createMainCpu(task, systemClock),
  },
  listenToSignals,
  // Apps on Bun and Deno sometimes do not end, for a reason that is not known: until it is, threads do less there.
  readProcess: bun === undefined && deno === undefined ? readProcessState : null,
  drainPort: (port) => {
    const posted: unknown[] = [];
    for (let one = receiveMessageOnPort(port); one !== undefined; one = receiveMessageOnPort(port))
      posted.push(one.message);
    return posted;
  },
  exit: endAfterInspection(inspectorSessions),
});
