/** The state of a run's nodes, whenever it changes: what happens to the run says when to ask. */
import type { HoldfastClient } from "holdfast/client";
import type { GraphStatus } from "../status/graph-status.ts";

const ENDED: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** Much may happen while one answer is on its way: then it is asked for once more, not once for each. */
export async function* follow(
  app: Pick<HoldfastClient, "runs">,
  runId: string,
  status: () => Promise<GraphStatus>,
  signal: AbortSignal | undefined,
): AsyncGenerator<GraphStatus, void> {
  const ending = new AbortController();
  const news = new News(
    app.runs.follow(runId, { signal: AbortSignal.any([ending.signal, ...(signal ? [signal] : [])]) }),
  );
  let last = "";
  try {
    for (;;) {
      const isOver = !(await news.next());
      if (signal?.aborted) return;
      const now = await status();
      const text = JSON.stringify(now);
      if (text !== last) yield now;
      last = text;
      if (isOver || ENDED.has(now.status)) return;
    }
  } finally {
    ending.abort();
  }
}

/** Whether anything has happened since it was last asked. */
class News {
  #isNew = false;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(events: AsyncIterable<unknown>) {
    void this.#read(events);
  }

  async #read(events: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const _ of events) {
        this.#isNew = true;
        this.#wake();
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#isOver = true;
    this.#wake();
  }

  /** Waits for something new; false: there is nothing more to come. */
  async next(): Promise<boolean> {
    if (!this.#isNew && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure) throw this.#failure.error;
    if (!this.#isNew) return false;
    this.#isNew = false;
    return true;
  }
}
