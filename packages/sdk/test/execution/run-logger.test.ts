import type { LoggerLike } from "@holdfast/core";
import fc from "fast-check";
import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { GivenResults, givenResults } from "../../src/execution/given-results.ts";
import { ReplayWatch } from "../../src/execution/replay-watch.ts";
import { createRunLogger } from "../../src/execution/run-logger.ts";
import { StepRecord } from "../../src/execution/step-record.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { NonRetriableError } from "../../src/steps/errors.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import { hash, silent, turn } from "./support.ts";

interface Line {
  readonly text: string;
  readonly stepId?: string;
  readonly attempt?: number;
}

type Handler = (context: HandlerContext<unknown>) => unknown;

let lines: Line[];
beforeEach(() => {
  lines = [];
  givenResults.forget("01RUN");
});

/** Keeps its lines as pino does: a child knows what its lines say besides. */
const recording = (fields: object = {}): LoggerLike & { child(more: object): LoggerLike } => ({
  ...silent,
  info: (text) => lines.push({ text: String(text), ...fields }),
  child: (more) => recording({ ...fields, ...more }),
});

function engineOf(handler: Handler, options: Partial<EngineOptions> = {}): Engine {
  const client = new Holdfast({ id: "app", isDev: true, logger: recording(), logLevel: "off" }, {});
  const fn = client.createFunction({ id: "f", triggers: [] }, handler as never);
  return new Engine({ client, fn, inPlace: true, ...options });
}

const texts = (): readonly string[] => lines.map(({ text }) => text);

const MODES: [string, Partial<EngineOptions>][] = [
  ["in place", { inPlace: true }],
  ["looking ahead", { inPlace: true, looksAhead: true }],
  ["plain", { inPlace: false }],
];

describe.each(MODES)("lines of a handler, %s", (_name, mode) => {
  test("each is logged once, however often a sequence is replayed", async () => {
    const engine = engineOf(async ({ step, logger }) => {
      logger.info("start");
      await step.run("a", () => 1);
      logger.info("after a");
      await step.sleep("b", "1s");
      logger.info("after b");
      await step.waitForEvent("c", { event: "never", timeout: "1s" });
      logger.info("after c");
      await step.run("d", () => 1);
      logger.info("end");
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(texts()).toEqual(["start", "after a", "after b", "after c", "end"]);
  });

  test("each is logged once in parallel branches that end in different passes", async () => {
    let tries = 0;
    const flaky = (): void => {
      tries += 1;
      if (tries === 1) throw new Error("once");
    };
    const engine = engineOf(async ({ step, logger }) => {
      const branch = async (name: string, what: Promise<unknown>): Promise<void> => {
        await what;
        logger.info(name);
      };
      await Promise.all([
        branch(
          "run",
          step.run("a", () => 1),
        ),
        branch("short sleep", step.sleep("b", "10s")),
        branch("long sleep", step.sleep("c", "20s")),
        branch("flaky", step.run("d", flaky)),
      ]);
      logger.info("joined");
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect([...texts()].sort()).toEqual(["flaky", "joined", "long sleep", "run", "short sleep"]);
    expect(texts().at(-1)).toBe("joined");
  });

  test("what comes before a step that is retried is logged once, its body each time", async () => {
    const engine = engineOf(async ({ step, logger }) => {
      await step.run("a", () => 1);
      logger.info("before b");
      await step.run("b", () => {
        logger.info("in b");
        if (lines.length < 4) throw new Error("again");
      });
      logger.info("after b");
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(lines).toMatchObject([
      { text: "before b", runId: "01RUN", functionSlug: "app-f", attempt: 0 },
      { text: "in b", stepId: "b", attempt: 0 },
      { text: "in b", stepId: "b", attempt: 1 },
      { text: "in b", stepId: "b", attempt: 2 },
      { text: "after b" },
    ]);
    expect(lines[0]).not.toHaveProperty("stepId");
  });

  test("an attempt of the handler that is retried logs again what comes after the record", async () => {
    let tries = 0;
    const engine = engineOf(async ({ step, logger }) => {
      logger.info("start");
      await step.run("a", () => 1);
      logger.info("computing");
      tries += 1;
      if (tries === 1) throw new Error("once");
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(lines.map(({ text, attempt }) => [text, attempt])).toEqual([
      ["start", 0],
      ["computing", 0],
      ["computing", 1],
    ]);
  });

  test("a handler that is called to find compensations logs nothing, the compensations do", async () => {
    const engine = engineOf(async ({ step, logger }) => {
      logger.info("start");
      await step.run("a", () => 1, { compensate: () => logger.info("undoing a") });
      logger.info("after a");
      throw new NonRetriableError("no");
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()).toEqual(["start", "after a", "undoing a"]);
  });

  test("each of a sequence is logged once when each pass is another process's", async () => {
    const engine = engineOf(async ({ step, logger }) => {
      logger.info("start");
      await step.sleep("a", "1s");
      logger.info("after a");
      await step.sleep("b", "1s");
      logger.info("after b");
      await step.run("c", () => 1);
      logger.info("end");
    }, mode);
    engine.onRequest = () => givenResults.forget("01RUN");
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(texts()).toEqual(["start", "after a", "after b", "end"]);
  });

  test("no line is lost and none is logged in a wrong order when each pass is another process's", async () => {
    const engine = engineOf(async ({ step, logger }) => {
      logger.info("start");
      const branch = async (name: string): Promise<void> => {
        await step.sleep(name, "1s");
        logger.info(name);
      };
      await Promise.all([branch("a"), branch("b")]);
      await step.run("c", () => 1);
      logger.info("end");
    }, mode);
    engine.onRequest = () => givenResults.forget("01RUN");
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(texts().filter((text) => text === "start")).toHaveLength(1);
    expect(new Set(texts())).toEqual(new Set(["start", "a", "b", "end"]));
    expect(texts().at(-1)).toBe("end");
  });
});

/** A tree of sequences and parallel branches; each leaf is a step, after which a line is logged. */
type Tree =
  | { readonly type: "run"; readonly failures: number }
  | { readonly type: "sleep"; readonly ms: number }
  | { readonly type: "sequence"; readonly parts: readonly Tree[] }
  | { readonly type: "parallel"; readonly parts: readonly Tree[] };

const partsOf = (part: fc.Arbitrary<Tree>): fc.Arbitrary<Tree[]> => fc.array(part, { minLength: 1, maxLength: 3 });

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ type: fc.constant("run" as const), failures: fc.constantFrom(0, 0, 0, 1) }),
    fc.record({ type: fc.constant("sleep" as const), ms: fc.constantFrom(1, 1000, 2000, 5000) }),
    fc.record({ type: fc.constant("sequence" as const), parts: partsOf(tie("tree")) }),
    fc.record({ type: fc.constant("parallel" as const), parts: partsOf(tie("tree")) }),
  ),
}));

function handlerOf(root: Tree): { readonly handler: Handler; readonly leaves: () => readonly string[] } {
  const leaves = new Set<string>();
  const tries = new Map<string, number>();
  const play = async (node: Tree, path: string, { step, logger }: HandlerContext<unknown>): Promise<void> => {
    const context = { step, logger } as HandlerContext<unknown>;
    if (node.type === "sequence") {
      for (const [index, part] of node.parts.entries()) await play(part, `${path}.${index}`, context);
      return;
    }
    if (node.type === "parallel") {
      await Promise.all(node.parts.map((part, index) => play(part, `${path}.${index}`, context)));
      return;
    }
    leaves.add(path);
    if (node.type === "sleep") await step.sleep(path, node.ms);
    else {
      await step.run(path, () => {
        const count = (tries.get(path) ?? 0) + 1;
        tries.set(path, count);
        if (count <= node.failures) throw new Error("again");
      });
    }
    logger.info(path);
  };
  return { handler: (context) => play(root, "p", context), leaves: () => [...leaves] };
}

describe("lines of random handlers", () => {
  test.each(MODES)(
    "REPLAY-1, REPLAY-2: each is logged exactly once where one process runs all passes, %s",
    async (_name, mode) => {
      await fc.assert(
        fc.asyncProperty(tree, async (root) => {
          lines = [];
          const { handler, leaves } = handlerOf(root);
          await engineOf(handler, mode).run();
          expect([...texts()].sort()).toEqual([...leaves()].sort());
        }),
        { numRuns: 60 },
      );
    },
  );

  test.each(MODES)("REPLAY-3, REPLAY-4: none is lost where each pass is another process's, %s", async (_name, mode) => {
    await fc.assert(
      fc.asyncProperty(tree, async (root) => {
        lines = [];
        const { handler, leaves } = handlerOf(root);
        const engine = engineOf(handler, mode);
        engine.onRequest = () => givenResults.forget("01RUN");
        await engine.run();
        expect([...new Set(texts())].sort()).toEqual([...leaves()].sort());
      }),
      { numRuns: 60 },
    );
  });
});

test("a targeted request logs nothing of the handler, and all of the step", async () => {
  const engine = engineOf(
    ({ step, logger }) => {
      logger.info("handler");
      return Promise.all([
        step.run("a", async () => {
          logger.info("in a");
          await turn();
          logger.info("still in a");
        }),
        step.run("b", () => 2),
      ]);
    },
    { inPlace: false },
  );
  await engine.request(hash("a"));
  expect(lines).toMatchObject([
    { text: "in a", stepId: "a" },
    { text: "still in a", stepId: "a" },
  ]);
});

describe("loggers of any shape", () => {
  const run = { runId: "r", functionSlug: "f", attempt: 0, isReplaying: () => false };
  const fields = { runId: "r", functionSlug: "f", attempt: 0 };

  function plain(): { readonly logger: LoggerLike; readonly calls: unknown[][] } {
    const calls: unknown[][] = [];
    const logger = { ...silent, info: (...args: unknown[]) => void calls.push(args) };
    return { logger: createRunLogger(logger, run), calls };
  }

  test.each<[string, unknown[], unknown[]]>([
    ["text", ["text"], ["text", fields]],
    ["text first, then data", ["text", { a: 1 }], ["text", { ...fields, a: 1 }]],
    ["data first, then text", [{ a: 1 }, "text"], [{ ...fields, a: 1 }, "text"]],
    ["text with placeholders", ["%s is %d", "a", 1], ["%s is %d", "a", 1, fields]],
    ["data that says an attempt itself", [{ attempt: 7 }, "x"], [{ ...fields, attempt: 7 }, "x"]],
    ["nothing", [], [fields]],
    ["null", [null], [null, fields]],
    ["an array", [[1]], [[1], fields]],
  ])("without child(), a line with %s has the fields as well", (_what, args, expected) => {
    const { logger, calls } = plain();
    logger.info(...args);
    expect(calls).toEqual([expected]);
  });

  test("without child(), an error keeps its place", () => {
    const { logger, calls } = plain();
    const error = new Error("no");
    logger.info(error, "text");
    expect(calls).toEqual([[error, "text", fields]]);
  });

  test.each<[string, unknown]>([
    [
      "throws",
      () => {
        throw new Error("no children");
      },
    ],
    ["gives nothing", () => undefined],
    ["gives something else", () => ({ pid: 7 })],
    ["is no function", "a name"],
  ])("a child() that %s does no harm", (_what, child) => {
    const calls: unknown[][] = [];
    const logger = createRunLogger(
      { ...silent, child, info: (...args: unknown[]) => void calls.push(args) } as LoggerLike,
      run,
    );
    logger.info("text");
    expect(calls).toEqual([["text", fields]]);
  });

  test("a logger that throws, or fails later, does not disturb the handler", async () => {
    const broken = {
      ...silent,
      info: () => {
        throw new Error("disk full");
      },
      warn: () => Promise.reject(new Error("disk full")),
    };
    const logger = createRunLogger(broken, run);
    logger.info("a");
    logger.warn("b");
    await turn();
  });

  test("methods that only this logger has are there; child() gives one that is as silent", () => {
    const seen: string[] = [];
    class Own {
      readonly #prefix: string;
      readonly level = "info";
      constructor(prefix: string) {
        this.#prefix = prefix;
      }
      debug(): void {}
      warn(): void {}
      error(): void {}
      info(text: string): void {
        seen.push(this.#prefix + text);
      }
      trace(text: string): void {
        seen.push(`${this.#prefix}trace ${text}`);
      }
      isLevelEnabled(level: string): boolean {
        return level === this.level;
      }
      child(more: { readonly name?: string }): Own {
        return new Own(`${this.#prefix}${more.name ?? Object.keys(more).length} `);
      }
    }
    let isReplaying = false;
    const logger = createRunLogger(new Own(""), { ...run, isReplaying: () => isReplaying }) as LoggerLike & Own;
    logger.info("a");
    logger.trace("b");
    const child = logger.child({ name: "own" });
    child.info("c");
    expect([logger.level, logger.isLevelEnabled("info"), "trace" in logger, "nothing" in logger]).toEqual([
      "info",
      true,
      true,
      false,
    ]);
    isReplaying = true;
    logger.trace("d");
    child.info("e");
    expect(seen).toEqual(["3 a", "3 trace b", "own 3 c"]);
  });

  test("lines of pino have the fields once, those of steps their own, and stay silent in a replay", async () => {
    const written: string[] = [];
    const base = pino({ base: null, timestamp: false }, { write: (line: string) => void written.push(line) });
    const client = new Holdfast({ id: "app", isDev: true, logger: base }, {});
    const fn = client.createFunction({ id: "f", triggers: [] }, async ({ step, logger }) => {
      logger.info("start");
      await step.run("a", () => logger.warn({ items: 2 }, "in a"));
      await step.sleep("b", "1s");
      logger.info({ items: 3 }, "end");
    });
    await new Engine({ client, fn, inPlace: true }).run();
    const common = '"runId":"01RUN","functionSlug":"app-f"';
    expect(written).toEqual([
      `{"level":30,${common},"attempt":0,"msg":"start"}\n`,
      `{"level":40,${common},"stepId":"a","attempt":0,"items":2,"msg":"in a"}\n`,
      `{"level":30,${common},"attempt":0,"items":3,"msg":"end"}\n`,
    ]);
  });

  test("a frozen logger and the console work", () => {
    const frozen = Object.freeze(recording());
    createRunLogger(frozen, run).info("text");
    expect(lines).toEqual([{ text: "text", ...fields }]);
    expect(() => createRunLogger(console, run).debug("a line of a test")).not.toThrow();
  });
});

test("REPLAY-4: code that asks for a step which is not on record is no replay, whatever it follows from", () => {
  const given = new GivenResults();
  given.set("r", new Set([hash("a")]));
  const watch = new ReplayWatch({ runId: "r", recorded: 1, isRepeat: false, given });
  const record = new StepRecord({ hash: hash("a"), id: "a", index: 0, fullId: "a" }, { id: "a", kind: "run" }, [], 0);
  record.isRecorded = true;
  record.outcome = { type: "memo", value: 1 };
  watch.onFound(true);
  watch.onSettling(record);
  expect(watch.isReplaying).toBe(true);
  watch.onFound(false);
  expect(watch.isReplaying).toBe(false);
});

test("what is remembered of runs is bounded, and the run that rested longest goes first", () => {
  const given = new GivenResults(5);
  given.set("a", new Set(["1", "2"]));
  given.set("b", new Set(["1", "2"]));
  given.set("a", new Set(["1", "2", "3"]));
  expect([given.has("a", "3"), given.has("b", "1")]).toEqual([true, true]);
  given.set("c", new Set(["1"]));
  expect([given.has("b", "1"), given.has("a", "1"), given.has("c", "1")]).toEqual([false, true, true]);
  given.forget("a");
  given.set("d", new Set(["1", "2", "3", "4"]));
  expect([given.has("c", "1"), given.has("d", "4")]).toEqual([true, true]);
});
