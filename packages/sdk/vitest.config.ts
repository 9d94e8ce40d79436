import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../tooling/src/vitest-base.ts";

export const kinds: Kinds = {
  real: [
    "test/thread-script.test.ts",
    "test/events/{run-state,send-events}.test.ts",
    "test/connection/{acceptance,blocked-main,broken-thread,close,close-matrix,connect,drain,failures}.test.ts",
    "test/connection/{handshake,heartbeats,hung-thread,link,listeners,main-stack,many-connections,messages-per-run,node-http,replies,requests,stall,state-reports,suspended}.test.ts",
    "test/connection/{isolated,isolated-losses,isolated-moments,pool-thread-moments,stall-parts,thread-death,thread-moments}.test.ts",
    "test/execution/hostile.test.ts",
    "test/isolation/{function-test,function-test-handlers,isolated-handlers,isolated-step,pool,pool-leftovers,pool-published,refused-servers,step-moments,unloadable-modules}.test.ts",
  ],
  slow: ["test/connection/{isolated-moments,thread-moments}.test.ts"],
};

export default defineConfig(testsByKind(kinds));
