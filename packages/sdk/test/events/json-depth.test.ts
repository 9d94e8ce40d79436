import { systemClock, systemTimers } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { depthProblem, jsonProblem } from "../../src/events/json-depth.ts";
import { sendEvents } from "../../src/events/send-events.ts";
import { sendSignal } from "../../src/events/send-signal.ts";
import { encodeResult } from "../../src/execution/result-json.ts";

const deep = (levels: number): Record<string, unknown> => {
  let value: Record<string, unknown> = { end: 1 };
  for (let level = 1; level < levels; level += 1) value = { in: value };
  return value;
};
const { maxDataDepth: MAX } = WIRE_LIMITS;
/** Just more than is taken, and more than there is stack for: `JSON.stringify` of Node 26 needs none. */
const LEVELS = [MAX + 1, 50_000];

const access = { mode: "dev", apiBaseUrl: "http://gateway.test/", eventBaseUrl: "http://gateway.test/" } as const;
const ports = {
  clock: systemClock,
  timers: systemTimers,
  random: () => 0.5,
  fetch: async () => new Response(JSON.stringify({ ids: ["1"], status: 200, data: { run_id: "r" } })),
};

describe("Values that nest too deep", () => {
  test("the first names of the place are said", () => {
    expect(depthProblem({ a: [1, { b: 2 }, { c: { d: 3 } }] }, 0, 3)).toMatch(
      /deeper than 3 levels, at `a\[2\]\.c`\. Keep/,
    );
    expect(depthProblem([[[[[[[[0]]]]]]]], 1, 5)).toMatch(/at `\[0\]\[0\]\[0\]\[0\]\[0\]…`/);
    const thrower = Object.defineProperty({}, "x", { enumerable: true, get: () => expect.fail("read") });
    expect(depthProblem(thrower, 0, 3)).toMatch(/^it nests deeper than 3 levels\. Keep/);
  });

  test("of other reasons the message stays", () => {
    expect(jsonProblem({ a: 1 }, new RangeError("Invalid time value"))).toBe("Invalid time value");
    expect(jsonProblem(deep(400), new TypeError("Do not know how to serialize a BigInt"))).toMatch(/BigInt/);
  });

  test.each(LEVELS)("of %i levels are an error with a code and the place, wherever they go", async (levels) => {
    const place = /nests deeper than 180 levels, at `(data\.)?in\.in\.in\.in(\.in)?…`/;
    const refused = { message: expect.stringMatching(place) };
    const data = deep(levels);
    await expect(sendEvents(access, undefined, [{ name: "a", data }], ports)).rejects.toMatchObject({
      code: "EVENT_INVALID",
      ...refused,
    });
    await expect(sendSignal(access, { signal: "s", data }, ports)).rejects.toMatchObject({
      code: "OPTION_INVALID",
      ...refused,
    });
    const app = new Holdfast({ id: "app", baseUrl: "http://gateway.test", isDev: true, fetch: ports.fetch }, {});
    await expect(app.invoke("app-f", { data })).rejects.toMatchObject({ code: "EVENT_INVALID", ...refused });
    expect(() => encodeResult(data, 'step "a"')).toThrow(
      expect.objectContaining({ code: "STEP_RESULT_INVALID", ...refused }),
    );
  });

  test("of 180 levels are taken", async () => {
    expect(encodeResult(deep(MAX), "x").text).toContain("end");
    expect(await sendEvents(access, undefined, [{ name: "a", data: deep(MAX) }], ports)).toEqual({ ids: ["1"] });
    expect(await sendSignal(access, { signal: "s", data: deep(MAX) }, ports)).toEqual({ runId: "r" });
  });
});
