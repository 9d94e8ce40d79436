import { EventEmitter } from "node:events";
import { seededRandom, silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import type { ThreadHandle } from "../../src/connection/main/spawn-thread.ts";
import { ThreadHost } from "../../src/connection/main/thread-host.ts";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";

/** A thread that does not end when it is terminated, as in native code; the test ends it. */
class Stubborn extends EventEmitter {
  readonly stdout = new EventEmitter();
  readonly stderr = new EventEmitter();
  terminated = 0;
  isRef = true;
  postMessage(): void {}
  terminate(): Promise<number> {
    this.terminated += 1;
    return Promise.resolve(1);
  }
  unref(): void {
    this.isRef = false;
  }
}

function bench() {
  const clock = fakeClock();
  const threads: Stubborn[] = [];
  const heard: ThreadMessage[] = [];
  const crashes: string[] = [];
  let looking = false;
  const host = new ThreadHost({
    startThread: () => {
      threads.push(new Stubborn());
      return threads.at(-1) as unknown as ThreadHandle;
    },
    policy: { baseMs: 100, factor: 1, maxMs: 100, jitter: 0, maxCrashes: 3, minUptimeMs: 1_000 },
    clock,
    timers: clock,
    random: seededRandom(1),
    log: silentLog,
    greet: () => [],
    onMessage: (message) => heard.push(message),
    onEnded: () => {},
    onCrash: ({ message }) => crashes.push(message),
    onFailed: () => {},
    isInspecting: () => looking,
  });
  host.start();
  const look = (is: boolean): void => {
    looking = is;
  };
  return { clock, host, threads, heard, crashes, look };
}

describe("A thread that cannot be terminated", () => {
  it("RESPAWN-8: a thread that cannot be terminated is given up and replaced, and its messages are ignored", async () => {
    const { clock, host, threads, heard, crashes } = bench();
    host.onHung(10_000);
    host.onHung(10_000);
    expect(threads[0]?.terminated).toBe(1);
    await clock.advance(1_000);
    expect(crashes).toHaveLength(1);
    expect(crashes[0]).toContain("not responded");
    expect(threads).toHaveLength(2);
    expect(threads[0]?.isRef).toBe(false);
    threads[0]?.emit("message", { type: "CLOSED", undelivered: [] });
    // It comes out of its native code at last.
    threads[0]?.emit("exit", 1);
    await clock.advance(1_000);
    expect(heard).toEqual([]);
    expect(threads).toHaveLength(2);
    threads[1]?.emit("message", { type: "CLOSED", undelivered: [] });
    expect(heard).toHaveLength(1);
  });

  it("a thread that inspects main is terminated only afterwards, and stop() does not wait longer for it", async () => {
    const { clock, host, threads, look } = bench();
    look(true);
    const stopped = host.stop();
    host.terminate(50);
    await clock.advance(50);
    await stopped;
    expect(threads[0]?.terminated, "Node would abort the process").toBe(0);
    look(false);
    await clock.advance(10);
    expect(threads[0]?.terminated).toBe(1);
    expect(threads).toHaveLength(1);
  });

  it("a hang that is noticed while close() ends the thread does not make stop() wait longer", async () => {
    const { clock, host, look } = bench();
    look(true);
    let isStopped = false;
    void host.stop().then(() => {
      isStopped = true;
    });
    host.terminate(50);
    await clock.advance(20);
    host.onHung(1_000);
    await clock.advance(40);
    expect(isStopped).toBe(true);
  });

  it("a thread that has ended by itself is not terminated", async () => {
    const { clock, host, threads, look } = bench();
    look(true);
    host.onHung(10_000);
    threads[0]?.emit("exit", 0);
    await clock.advance(5_000);
    expect(threads[0]?.terminated).toBe(0);
    expect(threads).toHaveLength(2);
  });
});
