import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../tooling/src/vitest-base.ts";

export const kinds: Kinds = {
  real: [
    "test/{deploys,examples,faults-on-request,tortured,function-test,leak-check,memory-gateway,node-process,postgres,proxy}.test.ts",
  ],
};

export default defineConfig(testsByKind(kinds));
