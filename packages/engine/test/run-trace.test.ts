import { describe, expect, test } from "vitest";
import { attemptSpanId, emptyRun, runTrace, spanOfEvent, withSpan } from "../src/index.ts";

const sender = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", isSampled: true, state: "" };
const other = { ...sender, traceId: "1".repeat(32), spanId: "2".repeat(16) };
const event = (more = "") => `{"id":"e","name":"n","data":{},"ts":1,"user":{}${more}}`;

function run(eventText: string, more: object = {}) {
  const identity = { runId: "01JZZZZZZZZZZZZZZZZZZZZZZZ", functionId: "f", appId: "a", appVersion: "", version: 1 };
  return Object.assign(emptyRun(identity), { eventText }, more);
}
const all = () => true;

describe("Run traces", () => {
  test("an event keeps its sender's span behind everything else that it holds", () => {
    for (const span of [sender, { ...sender, isSampled: false }, { ...sender, state: "rojo=1,congo=t61" }]) {
      expect(spanOfEvent(withSpan(event(), span))).toEqual(span);
    }
    expect(withSpan(event(), undefined)).toBe(event());
  });

  test("what an event's data says of traces is no trace context of the event", () => {
    const field = `"traceparent":"00-${sender.traceId}-${sender.spanId}-01"`;
    for (const text of [
      event(),
      event(`,"v":"1"`),
      event(`,"meta":{"a":1,${field}}`),
      event(`,"meta":${JSON.stringify(`,${field}`)}`),
      event(`,"meta":{"a":1,${field},"b":"c"},"v":"1"`),
      `{"name":"n","data":{"a":1,${field}}}`,
    ]) {
      expect(spanOfEvent(text)).toBeUndefined();
    }
  });

  test("a run is a child of its event's span, in its trace; without one it begins a trace of its own", () => {
    const traced = runTrace(run(withSpan(event(), sender)), () => false);
    expect(traced).toMatchObject({ parentSpanId: sender.spanId, links: [] });
    expect(traced.span).toMatchObject({ traceId: sender.traceId, isSampled: true });
    const own = runTrace(run(event()), all);
    expect(own).toMatchObject({ parentSpanId: null, links: [], span: { isSampled: true } });
    expect(own).toEqual(runTrace(run(event()), all));
    expect(runTrace(run(event()), () => false).span.isSampled).toBe(false);
  });

  test("a batch and a link of a chain have traces of their own, linked to those that they come from", () => {
    const batch = runTrace(run(withSpan(event(), sender), { moreText: withSpan(event(), other) }), all);
    expect(batch).toMatchObject({ parentSpanId: null, links: [sender, other] });
    const chain = { root: "r", from: "f" };
    expect(runTrace(run(withSpan(event(), sender), { chain }), all)).toMatchObject({
      parentSpanId: null,
      links: [sender],
    });
  });

  test("a run that goes on after its end has another span, and its attempts have other ids", () => {
    const first = runTrace(run(withSpan(event(), sender)), all);
    const again = runTrace(run(withSpan(event(), sender), { revivals: 1 }), all);
    expect(again.links).toEqual([first.span]);
    const ids = [first, again].flatMap((trace) => [attemptSpanId(trace, "k", 0), attemptSpanId(trace, "k", 1)]);
    expect(new Set([...ids, first.span.spanId, again.span.spanId]).size).toBe(6);
  });
});
