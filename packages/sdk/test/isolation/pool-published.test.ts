import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, test } from "vitest";
import type { IsolationMessage } from "../../src/diagnostics/channels.ts";
import { isolatedModule, testPool } from "./pool-harness.ts";

test("threads and turns of a pool are published, and a subscriber that throws harms none of them", async () => {
  const messages: IsolationMessage[] = [];
  const listener = (message: unknown): void => {
    messages.push(message as IsolationMessage);
    throw new Error("out of metrics");
  };
  subscribe("holdfast:isolation", listener);
  try {
    await using code = await isolatedModule(`
      isolated(import.meta.url, "quick", () => 1);
      isolated(import.meta.url, "endless", () => { for (;;); });
    `);
    {
      await using test = await testPool({ threads: 1 });
      await test.run(code.url, "quick");
      await test.run(code.url, "endless", { budgetMs: 50 });
      await test.run(code.url, "quick");
    }
    const subject = { requestId: "request-1", runId: "run-1", functionSlug: "app-fn", stepId: "quick" };
    const [first = 0, second = 0] = [...new Set(messages.map(({ threadId }) => threadId))];
    expect(messages.filter(({ threadId }) => threadId === first)).toMatchObject([
      { type: "thread-started" },
      { type: "turn-started", subject },
      { type: "turn-ended" },
      { type: "turn-started", subject: { ...subject, stepId: "endless" } },
      { type: "turn-cut", isOverrun: true, reason: { code: "ISOLATE_BUDGET" } },
      { type: "thread-ended" },
    ]);
    expect(messages.filter(({ threadId }) => threadId === second)).toMatchObject([
      { type: "thread-started" },
      { type: "turn-started", subject },
      { type: "turn-ended" },
      { type: "thread-ended" },
    ]);
  } finally {
    unsubscribe("holdfast:isolation", listener);
  }
});
