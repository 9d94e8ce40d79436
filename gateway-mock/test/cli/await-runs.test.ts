import { HoldfastError } from "@holdfast/core";
import { describe, expect, test, vi } from "vitest";
import { awaitRuns } from "../../src/cli/await-runs.ts";
import type { GatewayClient } from "../../src/cli/gateway-client.ts";
import type { Output } from "../../src/cli/output.ts";

/** A gateway whose run has one status after the other, and then the last one. */
function runOf(...statuses: readonly string[]): { readonly client: GatewayClient; readonly asked: () => number } {
  let count = 0;
  const get = (): Promise<unknown> => {
    const status = statuses[Math.min(count, statuses.length - 1)];
    count += 1;
    return Promise.resolve({
      id: "01R",
      functionId: "shop-order",
      status,
      endedMs: status === "COMPLETED" ? 1 : null,
    });
  };
  return { client: { get } as unknown as GatewayClient, asked: () => count };
}

function pipe(): { readonly output: Output; readonly notes: string[] } {
  const notes: string[] = [];
  const note = (text: string): void => void notes.push(text);
  const plain = { isTerminal: false, showsProgress: false, columns: 120, colours: false };
  return { output: { print: () => {}, note, ...plain }, notes };
}

describe("runs that are waited for in a pipe", () => {
  test("each change is a line on stderr", async () => {
    const { output, notes } = pipe();
    const { client } = runOf("PENDING", "RUNNING", "RUNNING", "COMPLETED");
    await awaitRuns(client, ["01R"], { output, timeoutMs: 60_000, speaks: true });
    expect(notes).toEqual([
      "run 01R of shop-order: PENDING\n",
      "run 01R of shop-order: RUNNING\n",
      "run 01R of shop-order: COMPLETED\n",
    ]);
  });

  test("it is said that a run has not ended in time", async () => {
    const { output, notes } = pipe();
    await awaitRuns(runOf("RUNNING").client, ["01R"], { output, timeoutMs: 0, speaks: true });
    expect(notes.at(-1)).toBe("A run has not ended in time.\n");
  });

  test("a gateway that goes while the runs of an event are waited for is waited for, and both is said once", async () => {
    const { output, notes } = pipe();
    const { client } = runOf("RUNNING", "COMPLETED");
    let failures = 4;
    const get = (path: string): Promise<never> => {
      failures -= 1;
      if (failures < 0) return client.get(path);
      return Promise.reject(new HoldfastError("GATEWAY_UNREACHABLE", "No gateway answers."));
    };
    const options = { output, timeoutMs: 60_000, speaks: true };
    const fleeting = { ...client, get } as unknown as GatewayClient;
    await awaitRuns(fleeting, ["01R", "01R"], { ...options, exist: true });
    expect(notes.filter((note) => note.startsWith("The gateway"))).toEqual([
      "The gateway is gone (No gateway answers.); waiting for it …\n",
      "The gateway is back.\n",
    ]);
    failures = 1;
    await expect(awaitRuns(fleeting, ["01R"], options)).rejects.toMatchObject({ code: "GATEWAY_UNREACHABLE" });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends the wait in words and with code %d", async (signal, code) => {
    const { output, notes } = pipe();
    const { client, asked } = runOf("RUNNING", "RUNNING", "RUNNING", "COMPLETED");
    const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as never);
    try {
      const before = process.listenerCount(signal);
      const waiting = awaitRuns(client, ["01R"], { output, timeoutMs: 60_000, speaks: true });
      await vi.waitUntil(() => asked() > 0, { timeout: 100_000 });
      process.emit(signal, signal);
      expect(exit).toHaveBeenCalledWith(code);
      expect(notes).toContain(`${signal}: no longer waiting; run 01R goes on.\n`);
      await waiting;
      expect(process.listenerCount(signal)).toBe(before);
    } finally {
      exit.mockRestore();
    }
  });
});
