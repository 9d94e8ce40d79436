import { describe, expect, test } from "vitest";
import { foldedSteps, foundSteps, type StepRow } from "../src/data/folded-steps.ts";
import type { Step } from "../src/data/types.ts";

const step = (number: number, more: Partial<Step> = {}): Step => ({
  id: `s${number}`,
  name: `row ${number}`,
  op: "StepRun",
  status: "completed",
  attempt: 0,
  failedAttempts: [],
  startedMs: 0,
  durationMs: 1,
  openedMs: 0,
  dueMs: null,
  endedMs: 1,
  ...more,
});
const steps = (count: number, others: Readonly<Record<number, Partial<Step>>> = {}): Step[] =>
  Array.from({ length: count }, (_, number) => step(number, others[number]));
const fold = (all: readonly Step[], selected: string | null = null, unfolded: readonly string[] = []): string =>
  textOf(foldedSteps(all, { selected, unfolded: new Set(unfolded) }));
const ids = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, n) => `s${from + n}`);

/** Such as `0-19 [20-79] 80-99`. */
function textOf(rows: readonly StepRow[]): string {
  const parts: string[] = [];
  let shown: string[] = [];
  const flush = (): void => {
    if (shown.length > 0) parts.push(shown.length === 1 ? String(shown[0]) : `${shown[0]}-${shown.at(-1)}`);
    shown = [];
  };
  for (const row of rows) {
    if (row.kind === "step") shown.push(row.step.id.slice(1));
    else {
      flush();
      const [first] = row.steps;
      const last = row.steps.at(-1);
      const range = `${first?.id.slice(1)}-${last?.id.slice(1)}`;
      parts.push(`[${range}: ${row.steps.length}${row.done ? "" : ", not done"}]`);
    }
  }
  flush();
  return parts.join(" ");
}

describe("The steps of a run", () => {
  test("are all shown where they are a hundred, and else the first and the last", () => {
    expect(fold(steps(100))).toBe("0-99");
    expect(fold(steps(900))).toBe("0-19 [20-879: 860] 880-899");
  });

  test("are shown with their neighbours where one failed, was retried, was given or is selected", () => {
    const failedAttempts = [{ attempt: 0, atMs: 1, error: {} }];
    expect(fold(steps(900, { 400: { status: "failed" } }))).toBe("0-19 [20-397: 378] 398-402 [403-879: 477] 880-899");
    expect(fold(steps(300, { 100: { failedAttempts } }))).toBe("0-19 [20-97: 78] 98-102 [103-279: 177] 280-299");
    expect(fold(steps(300, { 100: { edited: true } }))).toContain(" 98-102 ");
    expect(fold(steps(300, { 100: { status: "waiting" } }))).toContain(" 98-102 ");
    expect(fold(steps(300), "s100")).toContain(" 98-102 ");
    expect(fold(steps(300), "elsewhere")).toBe("0-19 [20-279: 260] 280-299");
  });

  test("are folded while they are still to come, too, which is said", () => {
    const planned = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [n + 50, { status: "planned" as const }]));
    expect(fold(steps(200, planned))).toBe("0-19 [20-179: 160, not done] 180-199");
  });

  test("are not folded where only a few would be, nor where they were unfolded", () => {
    expect(fold(steps(300, { 31: { status: "failed" } }))).toBe("0-33 [34-279: 246] 280-299");
    expect(fold(steps(300), null, ids(20, 279))).toBe("0-299");
    expect(fold(steps(900, { 400: { status: "failed" } }), null, ids(20, 397))).toBe("0-402 [403-879: 477] 880-899");
  });

  test("stay unfolded when one among them is selected, and while more come", () => {
    expect(fold(steps(300), "s150", ids(20, 279))).toBe("0-299");
    expect(fold(steps(330), "s150", ids(20, 279))).toBe("0-279 [280-309: 30] 310-329");
  });

  test("are found by a part of their name, whatever its case, or of their id where they have none", () => {
    const all = steps(900, { 3: { name: null, id: "ROW 89x" } });
    const { rows, count } = foundSteps(all, "Row 89");
    expect(count).toBe(12);
    expect(rows).toHaveLength(12);
    expect(foundSteps(all, "row")).toMatchObject({ count: 900 });
    expect(foundSteps(all, "row").rows).toHaveLength(200);
    expect(foundSteps(all, "nothing")).toEqual({ count: 0, rows: [] });
  });
});
