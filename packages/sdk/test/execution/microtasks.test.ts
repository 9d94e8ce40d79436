import { describe, expect, test } from "vitest";
import { afterMicrotasks, inMicrotask } from "../../src/execution/microtasks.ts";
import { turn } from "./support.ts";

/** Notes what happens while everything that follows from `begin` at once happens. */
async function play(begin: (note: (name: string) => void) => void): Promise<string[]> {
  const notes: string[] = [];
  begin((name) => notes.push(name));
  await turn();
  return notes;
}

describe("What passes ask for together", () => {
  test("acts of microtasks run in order, after the code that asked and before what they lead to", async () => {
    const notes = await play((note) => {
      for (const name of ["a", "b"]) {
        inMicrotask(() => {
          note(name);
          queueMicrotask(() => note(`after ${name}`));
        });
      }
      note("asked");
    });
    expect(notes).toEqual(["asked", "a", "b", "after a", "after b"]);
  });

  test("afterMicrotasks waits for microtasks that are made meanwhile, whoever else has asked before", async () => {
    const chain = async (name: string, note: (name: string) => void): Promise<void> => {
      for (let index = 0; index < 5; index += 1) await Promise.resolve();
      note(name);
    };
    const notes = await play((note) => {
      afterMicrotasks(() => {
        note("first");
        void chain("microtasks of first", note);
        afterMicrotasks(() => note("third"));
      });
      afterMicrotasks(() => note("second"));
      void chain("microtasks", note);
    });
    expect(notes).toEqual(["microtasks", "first", "second", "microtasks of first", "third"]);
  });

  test("asked for in a tick that comes before one that is due, it waits for microtasks all the same", async () => {
    const notes = await play((note) => {
      queueMicrotask(() => {
        process.nextTick(() => {
          void Promise.resolve().then(() => note("microtask"));
          afterMicrotasks(() => note("asked in the tick"));
        });
      });
      afterMicrotasks(() => note("due"));
    });
    expect(notes).toEqual(["due", "microtask", "asked in the tick"]);
  });

  test.each([
    ["inMicrotask", inMicrotask],
    ["afterMicrotasks", afterMicrotasks],
  ])("%s: one that throws does not keep the others from running", async (_name, ask) => {
    const thrown: unknown[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => thrown.push(error));
    try {
      const notes = await play((note) => {
        ask(() => note("a"));
        ask(() => {
          throw new Error("broken");
        });
        ask(() => note("b"));
      });
      expect(notes).toEqual(["a", "b"]);
      expect(thrown).toEqual([new Error("broken")]);
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
    }
  });
});
