import { afterEach, describe, expect, test } from "vitest";
import { LIMIT_MS } from "../support/limits.mjs";
import { type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.mjs";
import { inWorld, type World } from "./world.ts";

/** Traces of runs, as a collector receives them: the official exporters on both sides, real processes, killed ones too. */

const setup = new URL("../fixtures/traced-setup.mjs", import.meta.url).href;
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

type Receiver = Awaited<ReturnType<typeof startOtlpReceiver>>;

async function traced(
  body: (
    world: World,
    receiver: Receiver,
    startApp: (version?: string) => ReturnType<World["startAppOf"]>,
  ) => Promise<void>,
  { gatewayTraces = true } = {},
): Promise<void> {
  const receiver = await startOtlpReceiver();
  cleanUps.push(() => receiver.stop());
  await inWorld({ name: "traced", extensions: true, ...(gatewayTraces ? { otlp: receiver.url } : {}) }, (world) =>
    body(world, receiver, (version = "1") =>
      world.startAppOf("traced-app.mjs", {
        nodeArgs: ["--import", setup],
        env: { TEST_OTLP_URL: receiver.url, TEST_VERSION: version },
      }),
    ),
  );
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] =>
  spans.filter((span) => span.name === name);

function only(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const [span, ...more] = named(spans, name);
  if (span === undefined || more.length > 0) {
    throw new Error(
      `There are ${more.length + (span ? 1 : 0)} spans "${name}" of: ${spans.map((one) => one.name).join(", ")}`,
    );
  }
  return span;
}

/** Spans of this trace whose parent was not exported, and ids that more than one has. */
function faultsOf(spans: readonly ReceivedSpan[], traceId: string) {
  const trace = spans.filter((span) => span.traceId === traceId);
  const ids = new Set(trace.map(({ spanId }) => spanId));
  return {
    orphans: trace.filter(({ parentSpanId }) => parentSpanId !== "" && !ids.has(parentSpanId)).map(({ name }) => name),
    roots: trace.filter(({ parentSpanId }) => parentSpanId === "").map(({ name }) => name),
    duplicates: trace.length - ids.size,
  };
}

/**
 * Gateway and app export on their own, and what is around a span ends after it: waits until there are so many spans of
 * each name, and the parent of every one.
 */
async function allSpans({ until }: World, spans: readonly ReceivedSpan[], names: readonly string[]): Promise<void> {
  await until(`${names.length} spans and their parents`, () => {
    const traceIds = new Set(spans.map(({ traceId }) => traceId));
    const isWhole = [...traceIds].every((traceId) => faultsOf(spans, traceId).orphans.length === 0);
    const wanted = (name: string): number => names.filter((one) => one === name).length;
    return isWhole && names.every((name) => named(spans, name).length >= wanted(name));
  });
}

describe("Traces", () => {
  test("one connected trace goes from the sender to every attempt, over a killed worker, a sleep and a deploy", async () => {
    await traced(async (world, { spans }, startApp) => {
      const first = await startApp("1");
      const eventId: string = await first.ask("send", { name: "traced/order", span: "checkout" });
      const [run] = await world.api.runsOf(eventId);
      const runId = run?.id ?? "";
      await world.noted(runId, "at long");
      await world.until("the span before the gate", () => named(spans, "before gate").length === 1);
      await first.kill();
      const second = await startApp("2");
      await world.noted(runId, "at long", 2);
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("done");
      const ends = ["run traced-follower", "run traced-child", "run traced-order"];
      const inside = ["in reserve", "in thread", "in follower", "in child", "after gate", "sleep nap"];
      await allSpans(world, spans, [...ends, ...inside, "in flaky", "in flaky", "step flaky", "step flaky"]);

      const { traceId, spanId: sender } = only(spans, "checkout");
      // Lines of the log name it.
      const lineWith = async (...texts: string[]): Promise<unknown> =>
        JSON.parse(await world.gateway.line((one) => texts.every((text) => one.includes(text)), LIMIT_MS));
      expect(await lineWith("traced-order completed")).toMatchObject({ runId, traceId });
      expect(await lineWith("flaky", "not yet")).toMatchObject({ runId, stepId: "flaky", attempt: 0, traceId });
      expect((await second.ask("lines")) as unknown[]).toContainEqual(
        expect.objectContaining({ runId, stepId: "flaky", traceId, spanId: named(spans, "step flaky")[0]?.spanId }),
      );
      expect(faultsOf(spans, traceId)).toEqual({ orphans: [], roots: ["checkout"], duplicates: 0 });
      const parentOf = (span: ReceivedSpan): ReceivedSpan | undefined =>
        spans.find(({ spanId }) => spanId === span.parentSpanId);
      const event = only(spans, "event traced/order");
      const order = only(spans, "run traced-order");
      expect(event.parentSpanId).toBe(sender);
      expect(order.parentSpanId).toBe(event.spanId);
      expect(order.attributes).toMatchObject({ "holdfast.run.id": runId, "holdfast.run.status": "COMPLETED" });

      // The body that was killed and the one that came after it are one attempt.
      const long = only(spans, "step long");
      expect(long.parentSpanId).toBe(order.spanId);
      expect(named(spans, "before gate").map(({ parentSpanId }) => parentSpanId)).toEqual([long.spanId, long.spanId]);
      expect(only(spans, "after gate").parentSpanId).toBe(long.spanId);

      const flaky = named(spans, "step flaky");
      expect(flaky.map(({ parentSpanId }) => parentSpanId)).toEqual([order.spanId, order.spanId]);
      expect(flaky.map(({ failed, attributes }) => [attributes["holdfast.attempt"], failed])).toEqual([
        [0, true],
        [1, false],
      ]);
      expect(flaky[0]?.events[0]?.attributes).toMatchObject({
        "exception.type": "TypeError",
        "exception.message": "not yet",
      });
      expect(named(spans, "in flaky").map((span) => parentOf(span)?.attributes["holdfast.attempt"])).toEqual([0, 1]);

      expect(parentOf(only(spans, "in reserve"))?.name).toBe("step reserve");
      expect(parentOf(only(spans, "in thread"))?.name).toBe("step double");
      for (const span of named(spans, "in handler")) expect(parentOf(span)?.name).toBe("pass traced-order");
      const nap = only(spans, "sleep nap");
      expect(nap.parentSpanId).toBe(order.spanId);
      expect(nap.endMs - nap.startMs).toBeGreaterThanOrEqual(300);
      expect(parentOf(only(spans, "run traced-child"))?.name).toBe("invoke call");
      expect(parentOf(only(spans, "event traced/follow"))?.name).toBe("step tell");
      expect(parentOf(only(spans, "run traced-follower"))?.name).toBe("event traced/follow");
    });
  });

  test("a run's failure, its end before a sleep's and a batch of traces are in their spans", async () => {
    await traced(async (world, { spans }, startApp) => {
      const app = await startApp();
      await app.ask("send", { name: "traced/fail", span: "sends failing" });
      await app.ask("send", { name: "traced/batch", span: "sends first" });
      await app.ask("send", { name: "traced/batch", span: "sends second" });
      const eventId: string = await app.ask("send", { name: "traced/idle", span: "sends idle" });
      const [idle] = await world.api.runsOf(eventId);
      await world.until("the sleep", async () => (await world.api.run(idle?.id ?? "")).steps.length === 1);
      await app.ask("cancel", { runId: idle?.id });
      await app.ask("invoke", { span: "invokes" });
      const ends = ["run traced-failing", "run traced-batch", "run traced-idle", "run traced-child"];
      const inside = ["pass traced-failing", "in failing", "in child", "sleep months", "invokes"];
      await allSpans(world, spans, [...ends, ...inside, "event traced/batch", "event traced/batch"]);

      const failing = only(spans, "run traced-failing");
      expect(failing).toMatchObject({ failed: true, attributes: { "holdfast.run.status": "FAILED" } });
      expect(only(spans, "pass traced-failing").events[0]?.attributes["exception.message"]).toBe("too far");
      expect(only(spans, "sleep months").failed).toBe(true);
      const batch = only(spans, "run traced-batch");
      expect(batch.parentSpanId).toBe("");
      const events = named(spans, "event traced/batch").map(({ traceId, spanId }) => ({ traceId, spanId }));
      expect(new Set(batch.links.map(({ spanId }) => spanId))).toEqual(new Set(events.map(({ spanId }) => spanId)));
      expect(only(spans, "run traced-child").traceId).toBe(only(spans, "invokes").traceId);
      for (const { traceId } of spans) expect(faultsOf(spans, traceId)).toMatchObject({ orphans: [], duplicates: 0 });
    });
  });

  test("at a gateway that makes no spans those of steps are children of the sender's", async () => {
    await traced(
      async (world, { spans }, startApp) => {
        const app = await startApp();
        world.journal.open("long");
        const eventId: string = await app.ask("send", { name: "traced/order", span: "checkout" });
        const [run] = await world.api.runsOf(eventId);
        await world.ended(run?.id ?? "");
        await world.until("the follower's span", () => named(spans, "in follower").length === 1);
        const { spanId, traceId } = only(spans, "checkout");
        const others = spans.filter((span) => span.spanId !== spanId);
        expect(new Set(others.map((span) => `${span.traceId} ${span.parentSpanId}`))).toEqual(
          new Set([`${traceId} ${spanId}`]),
        );
      },
      { gatewayTraces: false },
    );
  });
});
