import { defineConfig } from "vitest/config";
import { unitTests } from "../tooling/src/vitest-base.ts";

export default defineConfig(unitTests());
