/** Pools with real threads for tests, and a module with isolated code in a folder that is removed afterwards. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type LogLevel, seededRandom, systemClock, systemTimers } from "@holdfast/core";
import { onTestFinished } from "vitest";
import { startReaper, temporaryFolder } from "../../../tooling/src/processes.mjs";
import { CancelSource } from "../../src/execution/abort.ts";
import { IsolationPool } from "../../src/isolation/main/pool.ts";
import type { BodyTurn, PoolDeps, TurnEnd } from "../../src/isolation/main/pool-types.ts";
import { poolThreadSpawner } from "../../src/isolation/main/spawn-pool-thread.ts";
import { bundleThreadScript, loadPoolScript } from "../../src/thread-script.ts";

// Checks for leaks in single tests would take it for theirs.
startReaper();

const ISOLATE_ENTRY = fileURLToPath(new URL("../../src/isolate.ts", import.meta.url));

export interface IsolatedModule {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Node 20 reads no TypeScript, so the module is JavaScript and gets what `holdfast/isolate` exports from a bundle. */
export async function isolatedModule(source: string): Promise<IsolatedModule> {
  const { path: folder, remove } = temporaryFolder("holdfast-isolated-");
  onTestFinished(remove);
  const { script } = await bundleThreadScript(ISOLATE_ENTRY);
  await writeFile(join(folder, "isolate.cjs"), script);
  const path = join(folder, "code.mjs");
  await writeFile(path, `import { isolated, isPoolThread, stepSignal } from "./isolate.cjs";\n${source}`);
  return {
    url: pathToFileURL(path).href,
    [Symbol.asyncDispose]: async () => remove(),
  };
}

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>> | undefined;
}

export interface TestPool {
  readonly pool: IsolationPool;
  readonly logs: readonly LogLine[];
  /** Runs the code of this name in the module. */
  run(module: string, name: string, options?: Partial<BodyTurn> & { readonly signal?: CancelSource }): Promise<TurnEnd>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function testPool(
  rules: Partial<PoolDeps["rules"]> = {},
  deps: Partial<PoolDeps> = {},
): Promise<TestPool> {
  const logs: LogLine[] = [];
  const pool = new IsolationPool({
    rules: { threads: 2, warm: 0, maxQueue: 1_000, maxAbandoned: 2, recycleAfter: null, idleMs: null, ...rules },
    resourceLimits: {},
    spawn: poolThreadSpawner(await loadPoolScript()),
    clock: systemClock,
    timers: systemTimers,
    random: seededRandom(1),
    log: (level, message, data) => void logs.push({ level, message, data }),
    isDebugged: () => false,
    ...deps,
  });
  return {
    pool,
    logs,
    run: (module, name, { signal = new CancelSource(), ...turn } = {}) =>
      pool.runBody(
        {
          code: { kind: "body", module, name },
          args: [],
          subject: {
            requestId: "request-1",
            runId: "run-1",
            functionSlug: "app-fn",
            step: { id: name, hash: "hash", attempt: 0 },
          },
          budgetMs: 60_000,
          memoryMb: 0,
          ...turn,
        },
        signal,
      ),
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/** What a turn came to. */
export function resultOf(end: TurnEnd): unknown {
  if (end.type === "failed") throw new Error(`The turn failed: ${end.thrown.error.message}`);
  return end.json.isUndefined ? undefined : JSON.parse(end.json.text);
}

export function failureOf(end: TurnEnd): { readonly code: string | undefined; readonly message: string } {
  if (end.type === "done") throw new Error(`The turn succeeded: ${end.json.text}`);
  const { code, message } = end.thrown.error;
  return { code, message };
}
