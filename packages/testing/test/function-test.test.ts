import { type GatewayRun, startTestGateway, type TestGateway } from "@holdfast/testing";
import { FunctionTest, type FunctionTestOptions, type TestRun } from "@holdfast/testing/functions";
import { Holdfast, type HoldfastFunction, InvokeError, NonRetriableError, RetryAfterError, StepError } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../src/index.ts";

/**
 * Each function runs twice: in memory, and on a real gateway whose time is moved on. Both must have the same steps with
 * the same results, in the same order, and the same end.
 */

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const app = new Holdfast({ id: "pair", isDev: true, logger: silent }, {});
const HOUR_MS = 3_600_000;

/** Attempts of a body in the run under way; each run begins with none. */
const attempts = new Map<string, number>();
const attempt = (name: string): number => {
  const count = (attempts.get(name) ?? 0) + 1;
  attempts.set(name, count);
  return count;
};

const quick = app.createFunction({ id: "quick", triggers: [] }, ({ event, step }) =>
  step.run("double", () => event.data.n * 2),
);
const broken = app.createFunction({ id: "broken", triggers: [], retries: 1 }, ({ step }) =>
  step.run("break", () => {
    throw new TypeError("always");
  }),
);
const slow = app.createFunction({ id: "slow", triggers: [] }, async ({ step }) => {
  await step.sleep("long", "3d");
  return "slow";
});

const retried = app.createFunction(
  { id: "retried", triggers: { event: "retried" } },
  async ({ step, attempt: pass }) => {
    const value = await step.run("shaky", () => {
      const count = attempt("shaky");
      if (count === 1) throw new Error("first");
      if (count === 2) throw new RetryAfterError("second", "5m");
      return count;
    });
    const nothing = await step.run("nothing", () => {});
    if (attempt("handler") < 4) throw new Error("the handler itself");
    return [value, nothing === undefined, pass];
  },
);

const caught = app.createFunction({ id: "caught", triggers: { event: "caught" }, retries: 2 }, async ({ step }) => {
  const message = await step
    .run("fails", () => {
      throw new Error(`attempt ${attempt("fails")}`);
    })
    .catch((error: unknown) => [error instanceof StepError, (error as Error).message]);
  const last = await step
    .run("final", () => {
      throw new NonRetriableError("at once");
    })
    .catch((error: Error) => error.message);
  return [message, last];
});

const parallel = app.createFunction({ id: "parallel", triggers: { event: "parallel" } }, async ({ step }) => {
  const [a, b, c] = await Promise.all([
    step.run("a", () => "A"),
    step
      .run("b", () => {
        if (attempt("b") < 3) throw new Error("again");
        return "B";
      })
      .then((b) => step.run("after b", () => `${b}!`)),
    step.sleep("nap", "2h").then(() => step.run("after nap", () => "C")),
  ]);
  for (let round = 0; round < 3; round += 1) await step.run("round", () => round);
  return [a, b, c];
});

const waits = app.createFunction({ id: "waits", triggers: { event: "waits" } }, async ({ step }) => {
  const missed = await step.waitForEvent("missed", { event: "never", timeout: "1h" });
  const silence = await step.waitForSignal("silence", { signal: "never", timeout: "1h" });
  const winner = await Promise.race([
    step.waitForSignal("late", { signal: "never", timeout: "9h" }).then(() => "signal"),
    step.sleep("limit", "2h").then(() => "limit"),
  ]);
  const both = await Promise.all([
    step.waitForSignal("one", { signal: "same", timeout: "20h" }).catch((error: Error) => error.message),
    step.waitForSignal("two", { signal: "same", timeout: "20h" }).catch((error: Error) => error.message),
  ]);
  return [missed, silence, winner, both];
});

const answered = app.createFunction({ id: "answered", triggers: { event: "answered" } }, async ({ step }) => {
  const event = await step.waitForEvent("event", { event: "pair/came", timeout: "9d" });
  const signal = await step.waitForSignal("signal", { signal: "pair-signal", timeout: "9d" });
  return [event?.name, event?.data, signal];
});

const invokes = app.createFunction({ id: "invokes", triggers: { event: "invokes" } }, async ({ step }) => {
  const doubled = await step.invoke("quick", { function: quick, data: { n: 21 } });
  const failure = await step
    .invoke("broken", { function: broken })
    .catch((error: unknown) => [error instanceof InvokeError, (error as Error).name, (error as Error).message]);
  const late = await step
    .invoke("late", { function: slow, timeout: "1d" })
    .catch((error: Error) => [error.name, (error as { code?: string }).code]);
  const patient = await step.invoke("patient", { function: slow });
  return [doubled, failure, late, patient];
});

const failureSeen = app.createFunction(
  {
    id: "fails",
    triggers: { event: "fails" },
    retries: 1,
    onFailure: ({ error, event, step }) =>
      step.run("note", () => [error.message, event.data.event.data.n, event.data.function_id]),
  },
  async ({ step }) => {
    await step.run("book", () => "B1", { compensate: (result) => result });
    await step.run("pay", () => "P1", {
      compensate: () => {
        throw new NonRetriableError("no refund");
      },
    });
    await step.run("ship", () => {
      throw new Error(`attempt ${attempt("ship")}`);
    });
  },
);

const late = app.createFunction({ id: "late", triggers: { event: "late" }, deadline: "6h" }, async ({ step }) => {
  await step.run("book", () => "B2", { compensate: () => {} });
  await step.sleep("too long", "2d");
  return "never";
});

const cancelled = app.createFunction(
  { id: "cancelled", triggers: { event: "cancelled" }, timeouts: { finish: "6h" } },
  async ({ step }) => {
    await step.run("begin", () => 1);
    await step.sleep("too long", "2d");
  },
);

interface Shape {
  readonly fn: HoldfastFunction;
  readonly options?: FunctionTestOptions;
  /** How far the gateway's time moves at once; less than what may not change places. */
  readonly stepMs?: number;
  /** False = the order in which steps are listed may differ. */
  readonly isOrdered?: boolean;
  /** At its first wait on the gateway. */
  readonly meanwhile?: (shop: Holdfast) => Promise<unknown>;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  "steps and a handler that are retried": { fn: retried },
  "a step that fails for good, and is caught": { fn: caught },
  // Whether the sleep or the failure of its neighbour is reported first depends on how quick the machine is.
  "parallel steps, one of which is retried while another sleeps": { fn: parallel, isOrdered: false },
  "waits that time out, a race, and two waits for one signal": { fn: waits },
  "waits for what comes": {
    fn: answered,
    options: {
      steps: [
        { id: "event", handler: () => ({ n: 5 }) },
        { id: "signal", handler: () => ["go"] },
      ],
    },
    meanwhile: async (shop) => {
      await shop.send({ name: "pair/came", data: { n: 5 } });
      await waitFor(async () => (await shop.sendSignal({ signal: "pair-signal", data: ["go"] })).runId, {
        what: "the step that waits for the signal",
      });
    },
  },
  "functions that are invoked: done, failed, too late, and in time": {
    fn: invokes,
    options: { functions: [quick, broken, slow] },
    stepMs: 6 * HOUR_MS,
  },
  "a failure with compensations and onFailure": { fn: failureSeen },
  "a run that is over its deadline while it sleeps": { fn: late },
  "a run that is over `timeouts.finish` while it sleeps": { fn: cancelled },
};

const functions = [quick, broken, slow, ...Object.values(SHAPES).map(({ fn }) => fn)];
let gateway: TestGateway;
let shop: Holdfast;
let connection: Awaited<ReturnType<Holdfast["connect"]>>;

beforeAll(async () => {
  gateway = await startTestGateway();
  shop = new Holdfast({ id: "pair", isDev: true, baseUrl: gateway.url, logger: silent }, {});
  connection = await shop.connect({ functions });
});
afterAll(async () => {
  await connection?.close();
  await gateway?.close();
});

interface PlainFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly compensation?: { undone: unknown; failed: { stepId: string; error: PlainFailure }[]; notRun: unknown };
}

/** What both sides can tell of an error; instants differ. */
function failureOf(error: unknown): object | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, message, code, compensation } = error as PlainFailure;
  const { undone, failed = [], notRun } = compensation ?? {};
  return {
    name,
    code,
    message: message.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<instant>"),
    ...(compensation
      ? { undone, notRun, failed: failed.map((one) => [one.stepId, one.error.name, one.error.message]) }
      : {}),
  };
}

interface Told {
  readonly status: string;
  readonly output: unknown;
  readonly error: object | undefined;
  readonly steps: readonly object[];
}

const inAnyOrder = (told: Told): Told => ({
  ...told,
  steps: [...told.steps].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
});

function ofTest({ status, output, error, steps }: TestRun): Told {
  return {
    status: status.toUpperCase(),
    output: output ?? null,
    error: failureOf(error),
    steps: steps.map((step) => ({
      name: step.id,
      status: step.status,
      output: withoutId(step.output ?? null),
      error: step.status === "failed" ? failureOf(step.error) : undefined,
      attempts: step.attempts,
    })),
  };
}

type GatewayStep = GatewayRun["steps"][number] & {
  attempt: number;
  durationMs: number | null;
  output?: unknown;
  error?: unknown;
};

const isUnfinished = (status: string): boolean => status !== "completed" && status !== "failed";

function ofGateway({ status, output, error, steps }: GatewayRun): Told {
  const listed = (steps as readonly GatewayStep[]).filter(({ name }) => name !== "holdfast/failure");
  return {
    status,
    output: output ?? null,
    error: failureOf(error),
    steps: listed.map((step) => ({
      // As people read it.
      name: step.name.replace(/^compensate /, "holdfast/compensate:"),
      status: isUnfinished(step.status) ? "waiting" : step.status,
      output: withoutId(step.output ?? null),
      error: step.status === "failed" ? failureOf(step.error) : undefined,
      // Of a body, a worker has measured the time.
      attempts: step.durationMs === null ? 0 : step.attempt + 1,
    })),
  };
}

/** An event that a step waited for: its id and its time are another one's. */
function withoutId(output: unknown): unknown {
  if (typeof output !== "object" || output === null || !("ts" in output)) return output;
  const { name, data } = output as { name?: unknown; data?: unknown };
  return { name, data };
}

async function onGateway({
  fn,
  meanwhile,
  stepMs = HOUR_MS / 2,
}: Shape): Promise<{ run: GatewayRun; onFailure: GatewayRun | undefined }> {
  const { ids } = await shop.send({ name: fn.id, data: { n: 7 } });
  const [id = ""] = ids;
  let run = await gateway.waitForRun(id, ({ status }) => status !== "PENDING" && status !== "RUNNING");
  await meanwhile?.(shop);
  for (let skips = 0; !run.status.endsWith("ED"); skips += 1) {
    expect(skips, "the run goes on and on").toBeLessThan(400);
    await gateway.skipTime(stepMs);
    run = await gateway.waitForRun(id, ({ status }) => status !== "PENDING" && status !== "RUNNING");
  }
  if (run.status !== "FAILED" || fn !== failureSeen) return { run, onFailure: undefined };
  return { run, onFailure: await gateway.waitForRun(run.id) };
}

test.each(Object.entries(SHAPES))(
  "a function behaves the same in memory as on a gateway: %s",
  { timeout: 100_000 },
  async (_name, shape) => {
    const { fn, options } = shape;
    attempts.clear();
    const inMemory = await new FunctionTest(fn, { ...options, event: { name: fn.id, data: { n: 7 } } }).run();
    attempts.clear();
    const { run, onFailure } = await onGateway(shape);
    const listed = shape.isOrdered === false ? inAnyOrder : (told: Told): Told => told;
    expect(listed(ofTest(inMemory))).toEqual(listed(ofGateway(run)));
    if (onFailure) expect(inMemory.onFailure && ofTest(inMemory.onFailure)).toEqual(ofGateway(onFailure));
  },
);
