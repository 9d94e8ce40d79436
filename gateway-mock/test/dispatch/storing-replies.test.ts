import { expect, test } from "vitest";
import type { ConnectedWorker } from "../../src/dispatch/workers/connected-worker.ts";
import { MAX_STORING, StoringReplies } from "../../src/dispatch/workers/storing-replies.ts";

function storing() {
  const taken = new Map<ConnectedWorker, number>();
  let freed = 0;
  const change = (by: number) => (worker: ConnectedWorker) => void taken.set(worker, (taken.get(worker) ?? 0) + by);
  const replies = new StoringReplies({ hold: change(1), release: change(-1) }, () => {
    freed += 1;
  });
  const begin = (worker: ConnectedWorker | null) => replies.begin({ worker, functionId: "shop-order" });
  return { begin, taken: (worker: ConnectedWorker) => taken.get(worker) ?? 0, freed: () => freed };
}

const workerNamed = (id: string): ConnectedWorker => ({ id }) as ConnectedWorker;

test("beyond a bound replies keep their place until they are stored, those of each worker for itself", () => {
  const { begin, taken, freed } = storing();
  const [busy, other] = [workerNamed("busy"), workerNamed("other")];
  const ends = Array.from({ length: MAX_STORING }, () => begin(busy));
  expect(taken(busy)).toBe(0);
  ends.push(begin(busy), begin(busy));
  expect(taken(busy)).toBe(2);
  begin(other)();
  expect(taken(other)).toBe(0);
  expect(freed()).toBe(0);

  // A reply that has a place gives it back when it is stored, whatever became of those before it.
  ends.pop()?.();
  expect([taken(busy), freed()]).toEqual([1, 1]);
  for (const end of ends) end();
  expect([taken(busy), freed()]).toEqual([0, 2]);
  begin(busy)();
  expect([taken(busy), freed()]).toEqual([0, 2]);
});

test("one whose socket is gone has no place to keep", () => {
  const { begin, freed } = storing();
  for (let index = 0; index <= MAX_STORING; index++) begin(null);
  begin(null)();
  expect(freed()).toBe(0);
});
