import { defineConfig } from "vitest/config";
import { unitTests } from "./src/vitest-base.ts";

export default defineConfig(unitTests());
