/** The connection thread's entry: what `new Worker(...)` runs. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { clockOfThread, systemRandom, systemTimers } from "@holdfast/core";
import type { ConnectionThreadData } from "./connection/shared/connection-thread-data.ts";
import { createEmergencyChannel } from "./connection/thread/emergency.ts";
import { openWebSocket } from "./connection/thread/gateway-socket.ts";
import { createInspectorSessions, endAfterInspection } from "./connection/thread/inspector-sessions.ts";
import { createMainCpu } from "./connection/thread/main-cpu.ts";
import { captureMainStack } from "./connection/thread/main-stack.ts";
import { postByNodeHttp } from "./connection/thread/node-http.ts";
import { listenToSignals } from "./connection/thread/process-signals.ts";
import { createProcessState } from "./connection/thread/process-state.ts";
import { runThread } from "./connection/thread/run-thread.ts";
import { createSourceMaps } from "./connection/thread/source-maps.ts";

if (parentPort === null) {
  throw new Error("connect-thread is Holdfast's connection thread; connect() starts it. Do not run it directly.");
}

const given = workerData as ConnectionThreadData;
const clock = clockOfThread(given.started, process);
const inspectorSessions = createInspectorSessions();
runThread(parentPort, {
  clock,
  timers: systemTimers,
  random: systemRandom,
  post: postByNodeHttp,
  openWebSocket,
  stalls: {
    emergency: createEmergencyChannel(),
    capture: captureMainStack,
    inspectorSessions,
    maps: createSourceMaps(),
    mainCpu: (task) => createMainCpu(task, clock),
  },
  listenToSignals,
  readProcess: createProcessState(given, clock),
  drainPort: (port) => {
    const posted: unknown[] = [];
    for (let one = receiveMessageOnPort(port); one !== undefined; one = receiveMessageOnPort(port))
      posted.push(one.message);
    return posted;
  },
  exit: endAfterInspection(inspectorSessions),
});
