/** Where a store's statements take the time from. */
export interface TimeSource {
  /** The statement as it is sent. */
  sql(text: string): string;
  /** Runs `work`, but not while time is moved. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** The server's clock: nothing is changed and nothing waits. */
export const realTime: TimeSource = { sql: (text) => text, during: (work) => work() };
