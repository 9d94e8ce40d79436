import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../tooling/src/vitest-base.ts";

const realConnect = [
  ...["blocked-main", "broken-thread", "close", "close-matrix", "connect", "drain", "failures", "handshake"],
  ...["heartbeats", "hung-thread", "acceptance", "link", "paused", "replies", "requests", "stall", "stall-parts"],
  ...["thread-death", "thread-moments"],
];

export const kinds: Kinds = {
  real: [
    "test/thread-script.test.ts",
    "test/client/{run-state,send-events}.test.ts",
    `test/connection/{${realConnect.join(",")}}.test.ts`,
    "test/execution/hostile.test.ts",
  ],
  slow: ["test/connection/thread-moments.test.ts"],
};

export default defineConfig(testsByKind(kinds));
