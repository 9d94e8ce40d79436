import { afterEach, expect, test, vi } from "vitest";
import { exportRuns } from "../../src/cli/exported-runs.ts";

/** `export` and who reads it. */

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("runs are read no faster than a slow reader takes them", async () => {
  const asked: string[] = [];
  const printed: string[] = [];
  const output = { print: (text: string) => void printed.push(text), note: () => {} };
  const plain = { isTerminal: false, showsProgress: false, columns: 120, colours: false };
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    return Response.json({ id: "R", status: "COMPLETED" });
  });
  const room = vi.spyOn(process.stdout, "writableNeedDrain", "get").mockReturnValue(true);
  const args = Array.from({ length: 100 }, (_, index) => `R${index}`);
  const exporting = exportRuns({ args, flags: {}, env: {}, output: { ...output, ...plain } });
  await vi.waitFor(() => expect(printed).toHaveLength(1));
  for (let turns = 0; turns < 100; turns += 1) await turn();
  expect([printed.length, asked.length]).toEqual([1, 8]);
  process.stdout.emit("drain");
  await vi.waitFor(() => expect(printed).toHaveLength(2));
  room.mockReturnValue(false);
  process.stdout.emit("drain");
  expect(await exporting).toBe(0);
  expect(printed).toHaveLength(100);
});
