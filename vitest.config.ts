import { defineConfig } from "vitest/config";
import { kinds as dashboard } from "./gateway-mock/dashboard/vitest.config.ts";
import { kinds as gateway } from "./gateway-mock/vitest.config.ts";
import { kinds as core } from "./packages/core/vitest.config.ts";
import { kinds as engine } from "./packages/engine/vitest.config.ts";
import { kinds as graph } from "./packages/graph/vitest.config.ts";
import { kinds as protocol } from "./packages/protocol/vitest.config.ts";
import { kinds as sdk } from "./packages/sdk/vitest.config.ts";
import { kinds as store } from "./packages/store/vitest.config.ts";
import { kinds as testing } from "./packages/testing/vitest.config.ts";
import { pureTests } from "./packages/tooling/src/vitest-base.ts";
import { kinds as tooling } from "./packages/tooling/vitest.config.ts";

/** `npx vitest` at the root: the pure tests of every package, which need no Postgres, no sockets and no build. */
export default defineConfig(
  pureTests({
    "packages/core": core,
    "packages/store": store,
    "packages/engine": engine,
    "packages/graph": graph,
    "packages/protocol": protocol,
    "packages/sdk": sdk,
    "packages/testing": testing,
    "packages/tooling": tooling,
    "gateway-mock": gateway,
    "gateway-mock/dashboard": dashboard,
  }),
);
