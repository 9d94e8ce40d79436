import { CHARS_A_TURN, Expressions, SMALL_BYTES, STEPS_A_TURN } from "@holdfast/engine";
import { afterEach, describe, expect, test, vi } from "vitest";

import type { Gateway } from "../../src/server.ts";
import { type RunDetailView, runDetail, useGateway } from "./harness.ts";

const bench = useGateway();
const BYTES = 2_900_000;

const filled = (open: string, close: string, make: (n: number) => string): string => {
  const parts: string[] = [];
  for (let n = 0, length = 0; length < BYTES; n += 1) {
    const part = make(n);
    parts.push(part);
    length += part.length + 1;
  }
  return open + parts.join(",") + close;
};

/** Data whose building, or writing, keeps everybody else waiting for 30 ms to a second. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ["an object of very many fields", filled("{", "}", (n) => `"${n.toString(36)}":0`)],
  ["numbers as names", filled("{", "}", (n) => `"${(n * 1_000_003) % 4_294_967_291}":0`)],
  ["names with escapes", filled("{", "}", (n) => `"\\u0061${n.toString(36)}":0`)],
  ["one name over and over", filled("{", "}", () => '"__proto__":0')],
  ["an object of its own shape in each place", filled('{"l":[', "]}", (n) => `{"${n.toString(36)}":1}`)],
  ["lists in lists", filled('{"l":[', "]}", () => "[".repeat(150) + "]".repeat(150))],
  ["ordinary records", filled('{"kind":"y","l":[', "]}", (n) => `{"id":${n},"name":"n${n}","ok":true}`)],
];

/** One that builds slowly, one that writes slowly, and one that people send. */
const FEW = HOSTILE.filter((_, n) => [0, 5, 6].includes(n));

/** What is built or written at once is short, and everything between takes turns. */
class Watch {
  longestParsed = 0;
  longestWritten = 0;
  turns = 0;
  #on = true;

  constructor() {
    const { parse, stringify } = JSON;
    vi.spyOn(JSON, "parse").mockImplementation((text, reviver) => {
      this.longestParsed = Math.max(this.longestParsed, isText(text) ? 0 : text.length);
      return parse(text, reviver);
    });
    vi.spyOn(JSON, "stringify").mockImplementation(((value: unknown) => {
      const text = stringify(value);
      this.longestWritten = Math.max(this.longestWritten, typeof value === "string" ? 0 : (text?.length ?? 0));
      return text;
    }) as typeof JSON.stringify);
    const count = (): void => {
      this.turns += 1;
      if (this.#on) setImmediate(count);
    };
    count();
  }

  end(): void {
    this.#on = false;
    vi.restoreAllMocks();
  }
}

/** Reading one long text takes no time. */
const isText = (text: string): boolean => text.startsWith('"');

let watch: Watch | undefined;
afterEach(() => watch?.end());

function watched(): Watch {
  watch = new Watch();
  return watch;
}

function bounded({ longestParsed, longestWritten, turns }: Watch, bytes: number): void {
  expect([longestParsed, longestWritten].filter((length) => length > SMALL_BYTES)).toEqual([]);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(bytes / CHARS_A_TURN));
}

const post = (gateway: Gateway, body: string): Promise<Response> =>
  fetch(`${gateway.url}/e/key`, { method: "POST", body });

async function statuses(): Promise<string[]> {
  const { runs } = await bench.store.listRuns({ limit: 10 });
  return runs.map(({ status }) => status);
}

describe("Large events", () => {
  test.each(HOSTILE)("a large event (%s) is stored unchanged, and parsed in slices", async (_, data) => {
    const gateway = await bench.gateway();
    const functions = ["event.data.kind == 'x'", "event.data.l.exists(x, x == 'no')", "event.data.size() > 3"];
    await bench.worker(gateway, {
      functions: functions.map((expression, n) => ({
        id: `f${n}`,
        event: "",
        config: { triggers: [{ event: "shop/large", expression }] },
      })),
    });
    const on = watched();
    const answer = await post(gateway, `{"name":"shop/large","data":${data}}`);
    bounded(on, data.length);
    on.end();
    expect(answer.status).toBe(200);
    const { ids } = (await answer.json()) as { ids: string[] };
    const stored = await bench.store.getEvent(ids[0] ?? "");
    expect(stored?.payloadJson).toContain(`"data":${data},`);
  });

  test("five large events in one request take as many slices as five requests", async () => {
    const gateway = await bench.gateway();
    const [, data] = HOSTILE[0] ?? ["", ""];
    const on = watched();
    const answer = await post(gateway, `[${Array.from({ length: 5 }, () => `{"name":"a","data":${data}}`).join(",")}]`);
    expect(answer.status).toBe(200);
    bounded(on, 5 * data.length);
  });

  test("a condition on a small field of a large event works, one on the whole event fails with a log line", async () => {
    const warnings: string[] = [];
    const gateway = await bench.gateway({ log: (level, message) => void (level === "warn" && warnings.push(message)) });
    const trigger = (expression: string): object => ({ triggers: [{ event: "shop/large", expression }] });
    await bench.worker(gateway, {
      functions: [
        { id: "small", event: "", config: trigger("event.data.kind == 'y'") },
        { id: "all", event: "", config: trigger("event.data.l.exists(x, x.id == 1)") },
      ],
    });
    const answer = await post(gateway, `{"name":"shop/large","data":${HOSTILE.at(-1)?.[1]}}`);
    const { ids } = (await answer.json()) as { ids: string[] };
    const stored = await bench.store.getEvent(ids[0] ?? "");
    expect(stored?.runIds).toHaveLength(1);
    expect((await runDetail(gateway, stored?.runIds[0] ?? "")).functionId).toBe("shop-small");
    expect(warnings.filter((line) => /expressions may look at 10000 values/.test(line))).toHaveLength(1);
  });

  test("slow conditions of many functions leave turns of the event loop to other work", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway, {
      functions: Array.from({ length: 10 }, (_, n) => ({
        id: `f${n}`,
        event: "",
        config: { triggers: [{ event: "shop/large", expression: `event.data.l.exists(x, x == ${n} - 20)` }] },
      })),
    });
    const most = { steps: 0, inTurn: 0, all: 0 };
    const value = Expressions.prototype.value;
    vi.spyOn(Expressions.prototype, "value").mockImplementation(function (this: Expressions, ...args) {
      const before = this.steps;
      const result = value.apply(this, args);
      most.inTurn += this.steps - before;
      most.all += this.steps - before;
      most.steps = Math.max(most.steps, most.inTurn);
      return result;
    });
    let isOn = true;
    const next = (): void => {
      most.inTurn = 0;
      if (isOn) setImmediate(next);
    };
    next();
    try {
      const l = Array.from({ length: 4_000 }, (_, n) => n).join(",");
      expect((await post(gateway, `{"name":"shop/large","data":{"l":[${l}]}}`)).status).toBe(200);
    } finally {
      isOn = false;
      vi.restoreAllMocks();
    }
    expect(most.all).toBeGreaterThan(4 * STEPS_A_TURN);
    expect(most.steps).toBeLessThan(2 * STEPS_A_TURN);
  });

  test.each([
    ["not JSON at its end", (data: string) => `{"name":"a","data":${data}`, 400, "BODY_INVALID"],
    ["too many in a list", () => `[${'{"name":"a"},'.repeat(6_000)}{}]`, 413, "BODY_TOO_LARGE"],
    [
      "larger than events may be",
      (data: string) => `{"name":"a","data":{"a":${data},"b":${data}}}`,
      413,
      "BODY_TOO_LARGE",
    ],
    ["not an object", (data: string) => `[[${data}]]`, 400, "EVENT_INVALID"],
    ["with data that is a list", (data: string) => `{"name":"a","data":[${data}]}`, 400, "EVENT_INVALID"],
    [
      "that nests too deep",
      (data: string) => `{"name":"a","data":{"a":${data},"b":${"[".repeat(190)}${"]".repeat(190)}}}`,
      400,
      "BODY_INVALID",
    ],
  ])("an invalid large body (%s) is also rejected in slices", async (_, make, status, code) => {
    const gateway = await bench.gateway();
    const data = HOSTILE[0]?.[1] ?? "";
    const on = watched();
    const answer = await post(gateway, make(data));
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([status, code]);
    expect(on.longestParsed).toBeLessThanOrEqual(SMALL_BYTES);
  });
});

describe("Large reports of workers", () => {
  const given = async (gateway: Gateway) => {
    const worker = await bench.worker(gateway);
    await post(gateway, '{"name":"shop/order","data":{}}');
    return { worker, request: (await worker.request()).request };
  };
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

  test.each(FEW)("a large step result (%s) is stored and returned unchanged", async (_, data) => {
    const gateway = await bench.gateway();
    const { worker, request } = await given(gateway);
    const { requestId, runId, leaseId } = request;
    const on = watched();
    const ops = bytes(`[{"op":"StepRun","id":"a","data":${data}}]`);
    worker.send({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence: 1, ops });
    // Sent at once after it, but taken in this order.
    worker.reply(request, { status: "DONE", value: "end" });
    const { outcome } = await worker.frame("GATEWAY_CHECKPOINT_ACK");
    await worker.frame("WORKER_REPLY_ACK");
    bounded(on, data.length);
    const text = await (await fetch(`${gateway.url}/v1/runs/${runId}?log=1`)).text();
    expect(on.longestParsed).toBeLessThanOrEqual(SMALL_BYTES);
    on.end();
    expect([outcome, await statuses()]).toEqual(["stored", ["COMPLETED"]]);
    expect(text).toContain(`"output":${data}`);
    expect((JSON.parse(text) as RunDetailView).steps).toMatchObject([{ id: "a", status: "completed" }]);
  });

  test.each(FEW)(
    "large values that a function returns, throws and invokes with are stored unchanged, %s",
    async (_, data) => {
      const gateway = await bench.gateway();
      const { worker, request } = await given(gateway);
      const on = watched();
      const invoke = `[{"op":"InvokeFunction","id":"c","opts":{"function_id":"shop-order","payload":{"data":${data}}}}]`;
      worker.reply(request, { value: null, body: bytes(invoke) });
      // The test, too, has to leave it unread.
      const child = await worker.frame("GATEWAY_EXECUTOR_REQUEST");
      worker.reply(child, {
        value: null,
        status: "ERROR",
        noRetry: true,
        body: bytes(`{"name":"E","message":"m","l":${data}}`),
      });
      const next = await worker.frame("GATEWAY_EXECUTOR_REQUEST");
      worker.reply(next, { value: null, status: "DONE", body: bytes(data) });
      await worker.frame("WORKER_REPLY_ACK", ({ requestId }) => requestId === next.requestId);
      bounded(on, 3 * data.length);
      on.end();
      const view = async (runId: string): Promise<string> => (await fetch(`${gateway.url}/v1/runs/${runId}`)).text();
      const [parent, invoked] = [await view(next.runId), await view(child.runId)];
      expect([/"status":"COMPLETED"/.test(parent), parent.includes(`"output":${data}`)]).toEqual([true, true]);
      expect([/"status":"FAILED"/.test(invoked), /"error":\{"name":"E","message":"m"/.test(invoked)]).toEqual([
        true,
        true,
      ]);
      expect(invoked.includes(`"data":${data.slice(0, -1)},"_inngest":`)).toBe(true);
    },
  );

  test.each(FEW)("a step whose body has large arguments (%s) is stored with its result", async (_, data) => {
    const gateway = await bench.gateway();
    const { worker, request } = await given(gateway);
    const { requestId, runId, leaseId } = request;
    const on = watched();
    const ops = bytes(`[{"op":"StepRun","id":"a","opts":{"input":[${data}]},"data":1}]`);
    worker.send({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence: 1, ops });
    const { outcome } = await worker.frame("GATEWAY_CHECKPOINT_ACK");
    expect(on.longestParsed).toBeLessThanOrEqual(SMALL_BYTES);
    on.end();
    const failed = bytes(`[{"op":"StepError","id":"b","opts":{"input":[${data}]},"error":{"name":"E","message":"m"}}]`);
    await worker.replied(request, { value: null, body: failed });
    const { status, steps } = await runDetail(gateway, runId);
    expect([outcome, status]).toEqual(["stored", "WAITING"]);
    expect(steps).toMatchObject([{ id: "a", status: "completed" }, { id: "b" }]);
  });

  test("step options with too many values fail the run with the limit and the fix", async () => {
    const gateway = await bench.gateway();
    const { worker, request } = await given(gateway);
    const data = HOSTILE[0]?.[1] ?? "";
    await worker.replied(request, {
      value: null,
      body: bytes(`[{"op":"Gateway","id":"a","opts":{"url":"http://127.0.0.1:1","body":${data}}}]`),
    });
    const run = await runDetail(gateway, request.runId);
    expect(run).toMatchObject({ status: "FAILED", error: { code: "OP_INVALID" } });
    expect(JSON.stringify(run.error)).toMatch(/options of a step may hold 20000: pass it as one text/);
  });
});
