import { describe, expect, test } from "vitest";
import { encodeRequestTrace, readRequestTrace, readSpanContext, traceparentOf } from "../src/index.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

describe("Trace context", () => {
  test("a traceparent is read and written as W3C says", () => {
    expect(readSpanContext(traceparent)).toEqual({ traceId, spanId, isSampled: true, state: "" });
    expect(readSpanContext(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
    expect(traceparentOf({ traceId, spanId, isSampled: true })).toBe(traceparent);
  });

  test.each([
    ["nothing", undefined],
    ["another type", 7],
    ["another version", `01-${traceId}-${spanId}-01`],
    ["a forbidden version", `ff-${traceId}-${spanId}-01`],
    ["capitals", traceparent.toUpperCase()],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["something behind it", `${traceparent}-00`],
    ["two of them", `${traceparent}, ${traceparent}`],
    ["a line break", `${traceparent.slice(0, -1)}\n`],
    ["a megabyte", traceparent.repeat(20_000)],
  ])("%s in the place of a traceparent is ignored", (_, value) => {
    expect(readSpanContext(value)).toBeUndefined();
  });

  test("a tracestate goes along within the limits, and is dropped beyond them", () => {
    const stateOf = (tracestate: unknown) => readSpanContext(traceparent, tracestate)?.state;
    expect(stateOf("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE,")).toBe("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    const members = (count: number) => Array.from({ length: count }, (_, at) => `v${at}=1`).join(",");
    expect(stateOf(members(32))).toBe(members(32));
    for (const bad of [members(33), `a=${"x".repeat(511)}`, "no-value", "A=1", 'a="\n"', "a=é", {}]) {
      expect(stateOf(bad)).toBe("");
    }
  });

  test("what a request carries is read again, and what is no trace is none", () => {
    const handler = { traceId, spanId, isSampled: true, state: "rojo=1" };
    for (const trace of [{ handler }, { handler, runSpanId: "00f067aa0ba902b7" }]) {
      expect(readRequestTrace(encodeRequestTrace(trace))).toEqual(trace);
    }
    const text = (value: string) => new TextEncoder().encode(value.padEnd(60));
    for (const bad of ["{}", "null", "[", '{"traceparent":7}', `{"traceparent":"${traceparent}x"}`]) {
      expect(readRequestTrace(text(bad))).toBeUndefined();
    }
    expect(readRequestTrace(text(`{"traceparent":"${traceparent}","holdfastRun":"x"}`))).toEqual({
      handler: { ...handler, state: "" },
    });
  });
});
