/**
 * Calls that many make at the same time become few statements: what is asked while one is under way waits for the next.
 * Used for small look-ups and deletions by id, of which each alone would take a round trip and a connection.
 */
import { type Deferred, deferred } from "./promises.ts";

export interface CoalescedLimits {
  /** Statements under way at a time, so that a crowd leaves connections to others. */
  readonly atOnce: number;
  /** Items of one statement. */
  readonly most: number;
}

interface Asked<Item, Answer> {
  readonly item: Item;
  readonly answer: Deferred<Answer>;
}

/**
 * `run` answers for each item, in order. What it finds was read after the call: nothing is joined to a statement that
 * was sent before. A call that comes alone is carried out at once, that is, when the calls are here that are made beside
 * it: where a commit tells a hundred that they may go on, all of them ask in the same turn.
 */
export function coalesced<Item, Answer>(
  { atOnce, most }: CoalescedLimits,
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  let waiting: Asked<Item, Answer>[] = [];
  let underWay = 0;
  let isComing = false;

  const next = (): void => {
    if (underWay >= atOnce || waiting.length === 0) return;
    const asked = waiting.slice(0, most);
    waiting = waiting.slice(most);
    underWay += 1;
    void carryOut(asked).finally(() => {
      underWay -= 1;
      next();
    });
    next();
  };

  const carryOut = async (asked: readonly Asked<Item, Answer>[]): Promise<void> => {
    try {
      const answers = await run(asked.map(({ item }) => item));
      for (const [index, { answer }] of asked.entries()) answer.resolve(answers[index] as Answer);
    } catch (error) {
      for (const { answer } of asked) answer.reject(error);
    }
  };

  const begin = (): void => {
    isComing = false;
    next();
  };

  return (item) => {
    const answer = deferred<Answer>();
    waiting.push({ item, answer });
    if (!isComing && underWay < atOnce) {
      isComing = true;
      void Promise.resolve().then(begin);
    }
    return answer.promise;
  };
}
