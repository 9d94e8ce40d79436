import { describe, expect, it } from "vitest";
import { whyNoStack } from "../../src/connection/main/inspector.ts";
import { createInspectors } from "../../src/connection/main/inspectors.ts";
import { INSPECTOR_ROLE_BYTES, inspectorRole } from "../../src/connection/shared/inspector-role.ts";

const threads = () => {
  const memory = new SharedArrayBuffer(INSPECTOR_ROLE_BYTES);
  return [1, 2, 3].map((thread) => inspectorRole(memory, thread)) as [Role, Role, Role];
};
type Role = ReturnType<typeof inspectorRole>;

describe("The role of inspecting main", () => {
  it("one thread at a time has it, until that one leaves it", () => {
    const [one, two] = threads();
    expect([one.take(), two.take(), one.take()]).toEqual([true, false, true]);
    two.leave();
    expect(two.take()).toBe(false);
    one.leave();
    expect([two.take(), one.take()]).toEqual([true, false]);
  });

  it("what the thread with it has found is seen by the others, and is forgotten when it leaves", () => {
    const [one, two] = threads();
    one.take();
    expect(two.readFinding()).toBe("none");
    one.setFinding("no-answer");
    expect(two.readFinding()).toBe("no-answer");
    one.setFinding("no-request");
    expect(two.readFinding()).toBe("no-request");
    one.setFinding({ requestId: "job-1.1" });
    expect([two.readFinding(), two.isFound("job-1.1"), two.isFound("job-2.1")]).toEqual(["request", true, false]);
    one.leave();
    expect([two.readFinding(), two.isFound("job-1.1")]).toEqual(["none", false]);
  });

  it("no request is taken for one of the other findings", () => {
    const [one] = threads();
    for (let id = 0; id < 10_000; id += 1) {
      one.setFinding({ requestId: `${id}` });
      if (one.readFinding() !== "request") expect.fail(`${id}`);
    }
  });

  it("in no minute more than ten reports of all threads are written, and one line about processor time", () => {
    const [one, two, three] = threads();
    const written: number[] = [];
    // The clock passes the end of what 32 bits have room for.
    const from = 2 ** 31 - 45_000;
    for (let ms = 0; ms < 180_000; ms += 1_000) {
      const role = [one, two, three][(ms / 1_000) % 3] as Role;
      if (role.mayWrite("blocked", from + ms + 0.7)) written.push(ms);
    }
    const inMinuteFrom = (ms: number) => written.filter((other) => other >= ms && other < ms + 60_000).length;
    expect(Math.max(...written.map(inMinuteFrom))).toBe(10);
    expect(written).toHaveLength(30);
    expect([one.takeLeftOut(), one.takeLeftOut()]).toEqual([150, 0]);
    const atMs = [0, 59_999, 60_000, 119_999, 120_000];
    expect(atMs.map((ms) => two.mayWrite("no-cpu", ms))).toEqual([true, false, true, false, true]);
    expect(one.takeLeftOut()).toBe(0);
  });

  it("why no report has a stack is written once, whichever thread writes", () => {
    expect(threads().map((role) => role.takeNoStack())).toEqual([true, false, false]);
  });

  it("a thread that has ended does not keep it", () => {
    const inspectors = createInspectors();
    const [one, two] = [inspectors.add(), inspectors.add()];
    expect(one.thread).not.toBe(two.thread);
    expect(inspectorRole(one.memory, one.thread).take()).toBe(true);
    inspectors.onThreadEnded(two.thread);
    expect(inspectorRole(two.memory, two.thread).take()).toBe(false);
    inspectors.onThreadEnded(one.thread);
    expect(inspectorRole(two.memory, two.thread).take()).toBe(true);
  });
});

it("of a runtime other than Node it is known beforehand that no stack can be read", () => {
  expect(whyNoStack({ node: "24.3.0", bun: "1.4.4" })).toMatch(/^Bun does not show the stack/);
  expect(whyNoStack({ node: "24.2.0", deno: "2.9.6" })).toMatch(/^Deno does not show the stack/);
});
