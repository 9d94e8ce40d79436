import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { cellsBytes, threadCells } from "../../src/isolation/shared/thread-cells.ts";

const make = (slots: number): ReturnType<typeof threadCells> => threadCells(new SharedArrayBuffer(cellsBytes(slots)));

describe("Cells of the pool's threads", () => {
  it("CELLS-1, CELLS-2, CELLS-3: in any order of claims, releases and ends a turn has one owner and ends once", () => {
    const moves = fc.array(fc.tuple(fc.nat(6), fc.nat(2)), { maxLength: 80 });
    fc.assert(
      fc.property(moves, (schedule) => {
        const cells = make(3);
        const turns = new Map<number, number>();
        const doomed = new Set<number>();
        const seen = new Set<string>();
        for (const [move, slot] of schedule) {
          const turn = turns.get(slot);
          if (move === 0) {
            cells.ready(slot);
            if (doomed.has(slot)) expect(cells.read(slot).state, "CELLS-3").toBe("doomed");
          } else if (move <= 2) {
            const claimed = cells.claim(slot, move === 1 ? "main" : "connection");
            if (turn !== undefined || doomed.has(slot)) expect(claimed, "CELLS-1, CELLS-3").toBeNull();
            if (claimed === null) continue;
            expect(seen.has(`${slot}.${claimed}`)).toBe(false);
            seen.add(`${slot}.${claimed}`);
            turns.set(slot, claimed);
          } else if (move === 3) {
            const isReleased = cells.release(slot, turn ?? 99);
            expect(isReleased, "CELLS-2").toBe(turn !== undefined && !doomed.has(slot));
            if (isReleased) turns.delete(slot);
          } else if (move === 4 && turn !== undefined) {
            expect(cells.doom(slot, turn + 1), "CELLS-2").toBe(false);
            expect(cells.doom(slot, turn), "CELLS-2").toBe(!doomed.has(slot));
            doomed.add(slot);
          } else if (move === 5) {
            const isFree = cells.read(slot).state === "free";
            expect(cells.doom(slot, null)).toBe(isFree);
            if (isFree) doomed.add(slot);
          } else {
            cells.vacate(slot);
            turns.delete(slot);
            doomed.delete(slot);
          }
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it("any free thread of the right size can be claimed, by either owner", () => {
    const cells = make(2);
    for (const [slot, memoryMb] of [0, 64].entries()) {
      cells.prepare(slot, memoryMb);
      cells.ready(slot);
    }
    expect(cells.claimAny("connection", 64)).toEqual({ slot: 1, turn: 1 });
    expect(cells.claimAny("connection", 64)).toBeNull();
    expect(cells.read(1)).toEqual({ state: "connection", turn: 1, memoryMb: 64 });
    expect(cells.claimAny("main", 0)).toEqual({ slot: 0, turn: 1 });
  });

  it("CELLS-4: whoever waits is known, each owner for itself", () => {
    const cells = make(1);
    cells.setWaiting("connection", true);
    expect([cells.isWaiting("main"), cells.isWaiting("connection")]).toEqual([false, true]);
    cells.setWaiting("connection", false);
    expect(cells.isWaiting("connection")).toBe(false);
  });

  it("the time of a phase counts from when it began", () => {
    const cells = make(1);
    cells.setPhase(0, "running", 2 ** 31 - 10);
    expect(cells.readPhase(0, 2 ** 31 + 5)).toEqual({ phase: "running", forMs: 15 });
  });

  it("figures of the pool are read as main has set them, and the oldest turn ages", () => {
    const cells = make(1);
    expect(cells.readFigures(5)).toMatchObject({ threads: 0, queued: 0, oldestMs: null });
    const counts = { threads: 1, queued: 2, overruns: 3, crashes: 4, recycled: 5, abandoned: 6 };
    cells.setFigures(counts, 2 ** 31 - 10);
    expect(cells.readFigures(2 ** 31 + 5)).toEqual({ ...counts, oldestMs: 15 });
    cells.setFigures(counts, null);
    expect(cells.readFigures(5)).toEqual({ ...counts, oldestMs: null });
    // A thread's own cells are others.
    expect(cells.read(0)).toEqual({ state: "vacant", turn: 0, memoryMb: 0 });
  });

  it("turn numbers begin again after the last one", () => {
    const buffer = new SharedArrayBuffer(cellsBytes(1));
    const cells = threadCells(buffer);
    const lastTurn = 2 ** 27 - 1;
    // The first cell after those of the pool: turn * 8 + state, and 1 is free.
    new Int32Array(buffer)[cellsBytes(0) / 4] = lastTurn * 8 + 1;
    expect(cells.read(0)).toEqual({ state: "free", turn: lastTurn, memoryMb: 0 });
    expect(cells.claim(0, "connection")).toBe(0);
    expect(cells.read(0).state).toBe("connection");
    expect(cells.release(0, 0)).toBe(true);
  });
});
