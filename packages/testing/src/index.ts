export { type FakeClock, type FakeClockOptions, fakeClock, type PendingTimer } from "./fake-clock.ts";
export type { GatewayFaults } from "./gateway-faults.ts";
export { checkLeaks, type LeakCheck, type LeakCheckOptions, leakCheck, type TestHooks } from "./leak-check.ts";
export {
  type NodeProcess,
  type ProcessExit,
  type SpawnNodeOptions,
  spawnNode,
  type WaitForLineOptions,
} from "./node-process.ts";
export type {
  AnyFrame,
  Direction,
  FrameFate,
  FramePredicate,
  TappedFrame,
  TappedRequest,
} from "./proxy/frames.ts";
export {
  type DropOptions,
  type ProxyOptions,
  startProxy,
  type WaitForFrameOptions,
  type WireProxy,
} from "./proxy/proxy.ts";
export {
  type CreateDatabaseOptions,
  createDatabase,
  createTemplate,
  type ServerInput,
  type TestDatabase,
} from "./test-database.ts";
export {
  type GatewayRun,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  type WaitForRunOptions,
} from "./test-gateway.ts";
export {
  startTestPostgres,
  TEST_DATABASE_URL,
  type TestPostgres,
  type TestPostgresOptions,
  testPostgresGlobalSetup,
} from "./test-postgres.ts";
export {
  type TorturedFunction,
  type TorturedRun,
  type TortureOptions,
  type TortureProblem,
  type TortureReport,
  tortured,
} from "./tortured.ts";
export { type WaitForOptions, waitFor } from "./wait-for.ts";
