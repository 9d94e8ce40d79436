import { fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { Notice } from "../../src/dispatch/index.ts";
import { noticeLog } from "../../src/notices/notice-log.ts";
import { noticeLine } from "../../src/notices/notice-text.ts";

const RUN = "01M00000000000000000000000";

function logged(routine: "info" | "debug" = "info", names: readonly string[] = ["shop/order", "mail/*"]) {
  const clock = fakeClock();
  const lines: { readonly level: string; readonly message: string; readonly data: unknown }[] = [];
  const log = (level: string, message: string, data?: unknown): void => void lines.push({ level, message, data });
  return { clock, lines, tell: noticeLog({ log, clock, timers: clock, routine, listeners: () => names }) };
}

const event = (name: string, more: Partial<Extract<Notice, { type: "EVENT_STORED" }>> = {}): Notice => ({
  type: "EVENT_STORED",
  eventId: "e1",
  name,
  functionIds: [],
  isCollected: false,
  skippedBy: [],
  isAwaited: false,
  ...more,
});
const skip = (rule: "idempotency" | "rate" | "single", shown: string | null, runId: string | null = null) => ({
  ...{ functionId: "shop-order", rule, shown, runId },
});
const ended = (status: "COMPLETED" | "FAILED" | "CANCELLED", stack?: string): Notice => ({
  type: "RUN_ENDED",
  runId: RUN,
  functionId: "shop-order",
  status,
  tookMs: 1_520,
  error: status === "COMPLETED" ? null : { name: "TypeError", message: "no\nstock", ...(stack ? { stack } : {}) },
});
const attempt = (step: string | null): Notice => ({
  type: "ATTEMPT_FAILED",
  runId: RUN,
  functionId: "shop-order",
  step,
  attempt: 1,
  nextInMs: 2_000,
  error: { name: "Error", message: "503" },
});

const UNHEARD = 'no function listens to it (a step that waits for it later with `since: "run"` still has it).';

const lineOf = (notice: Notice, names: readonly string[] = ["shop/order", "mail/*"]) =>
  noticeLine(notice, { routine: "info", listeners: () => names });

describe("What a gateway says of its work", () => {
  test.each([
    [
      event("shop/order", { functionIds: ["shop-order", "shop-mail"] }),
      "info",
      "Event shop/order starts shop-order, shop-mail",
    ],
    [event("inngest/function.invoked", { functionIds: ["shop-order"] }), "info", "A call of invoke starts shop-order"],
    [event("shop/ordr"), "warn", `Event shop/ordr started nothing: ${UNHEARD} Did you mean shop/order?`],
    [event("x"), "info", `Event x started nothing: ${UNHEARD} They listen to shop/order, mail/*`],
    [
      event("mail/sent"),
      "info",
      "Event mail/sent starts nothing: no condition of the functions that listen to it holds",
    ],
    [event("x", { isCollected: true }), "info", "Event x is collected with others: its run starts later"],
    [event("x", { isAwaited: true }), "info", "Event x is for runs that wait for it; it starts none"],
    [
      event("x", { skippedBy: [skip("idempotency", "event.data.orderId = 17")] }),
      "info",
      "Event x starts nothing: `idempotency` of shop-order forbids it (event.data.orderId = 17)",
    ],
    [
      event("x", { functionIds: ["shop-mail"], skippedBy: [skip("rate", null), skip("single", "a\nb = 1", RUN)] }),
      "info",
      "Event x starts shop-mail, and not all that it triggers: `rateLimit` of shop-order forbids it; `singleton` of shop-order forbids it (a b = 1), run 01M00000000000000000000000 has not ended",
    ],
    [ended("COMPLETED"), "info", "shop-order completed in 1.5 s"],
    [ended("CANCELLED"), "info", "shop-order was cancelled: TypeError: no stock"],
    [
      ended("FAILED", "TypeError: no\n    at async next (node:internal/x:1:2)\n    at buy (file:///app/shop.ts:12:7)"),
      "error",
      "shop-order failed after 1.5 s: TypeError: no stock (at /app/shop.ts:12:7)",
    ],
    [attempt("charge"), "warn", 'shop-order: step "charge" failed, attempt 2; next in 2.0 s: 503'],
    [attempt(null), "warn", "shop-order failed, attempt 2; next in 2.0 s: 503"],
  ] as const)("%j", (notice, level, message) => {
    expect(lineOf(notice)).toMatchObject({ level, message });
  });

  test.each([
    ["si15105/e", "si15105/go", undefined],
    ["si15105/g", "si15105/go", "si15105/go"],
    ["demo/helo", "demo/hello", "demo/hello"],
    ["shop/orders.plcaed", "shop/order.placed", "shop/order.placed"],
    ["hsop/go.x", "shop/go.x", "shop/go.x"],
    ["warehouse/order.packed", "warehouse/order.placed", "warehouse/order.placed"],
    ["warehouse/order.sent", "warehouse/order.seen", undefined],
    ["orderplaced", "order/plced", "order/plced"],
    ["shop/paid", "shop/order", undefined],
  ])("%s next to %s: %s was meant", (name, other, meant) => {
    const { level, message } = lineOf(event(name), [other]);
    expect(level).toBe(meant === undefined ? "info" : "warn");
    expect(/Did you mean (.*)\?$/.exec(message)?.[1]).toBe(meant);
  });

  test("fields say what a machine looks for", () => {
    expect(lineOf(ended("FAILED")).data).toMatchObject({ runId: RUN, functionId: "shop-order", error: "TypeError" });
    expect(lineOf(attempt("charge")).data).toMatchObject({ stepId: "charge", attempt: 1, nextInMs: 2_000 });
    expect(lineOf(event("x")).data).toEqual({ eventId: "e1", event: "x", runs: 0 });
  });

  test("names of another environment stay what they are there, and control characters reach no terminal", () => {
    const notice = event("@@staging:shop/\u001b[31morder");
    expect(lineOf(notice, []).message).toBe(
      "Event shop/ [31morder started nothing: no function listens to any event here. Is an app connected?",
    );
  });

  test("without a terminal to watch, routine notices are logged at debug, failures at warn or error", () => {
    const { lines, tell } = logged("debug");
    for (const one of [event("nothing"), ended("COMPLETED"), ended("FAILED"), attempt(null)]) tell(one);
    expect(lines.map(({ level }) => level)).toEqual(["debug", "debug", "error", "warn"]);
  });
});

describe("Thousands of runs in a second", () => {
  test("an event that started nothing is listed among thousands that did", async () => {
    const { clock, lines, tell } = logged();
    for (let n = 0; n < 500; n += 1) tell(event("shop/order", { functionIds: ["shop-order"] }));
    for (let n = 0; n < 25; n += 1) tell(event("shop/ordr"));
    expect(lines.filter(({ message }) => message.includes("Did you mean shop/order?"))).toHaveLength(20);
    await clock.advance(1_000);
    expect(lines.at(-1)?.data).toEqual({ events: 480, "events that started nothing": 5 });
  });

  test("a few are listed, the rest is counted, and failures have places of their own", async () => {
    const { clock, lines, tell } = logged();
    for (let n = 0; n < 5_000; n += 1) {
      tell(event("shop/order", { functionIds: ["shop-order"] }));
      tell(ended("COMPLETED"));
    }
    expect(lines).toHaveLength(20);
    for (let n = 0; n < 50; n += 1) tell(ended("FAILED"));
    expect(lines.slice(20).map(({ level }) => level)).toEqual(Array.from({ length: 20 }, () => "error"));
    await clock.advance(1_000);
    expect(lines.at(-1)).toEqual({
      level: "warn",
      message: "And 4990 events, 4990 runs completed, 30 runs failed, too many to list",
      data: { events: 4990, "runs completed": 4990, "runs failed": 30 },
    });
    const before = lines.length;
    tell(ended("COMPLETED"));
    expect(lines).toHaveLength(before + 1);
    await clock.advance(5_000);
    expect(lines).toHaveLength(before + 1);
  });
});
