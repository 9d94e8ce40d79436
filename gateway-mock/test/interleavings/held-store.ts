import type { ClaimRequest, Store, Wake } from "@holdfast/store";

import type { Interleaver } from "./interleaver.ts";

/** What a gateway decides and reads with. */
const HELD = [
  "commit",
  "intake",
  "claim",
  "extendLeases",
  "releaseLeases",
  "finishJob",
  "findWaits",
  "waitPaths",
  "loadRuns",
  "getEvent",
  "storedEvents",
  "getRun",
] as const;
type Held = (typeof HELD)[number];

/** A call that the database has carried out, before anybody knows. */
export interface Carried {
  readonly gateway: string;
  readonly method: Held;
  readonly args: readonly unknown[];
  readonly result: unknown;
  readonly at: number;
}

export interface HeldStore {
  readonly store: Store;
  /** Notifications from other gateways. */
  wake(wake: Wake): void;
  /** The gateway is no more: what it has asked for and not begun is not done, and no answer comes. */
  kill(): void;
}

/** As where there is little room: what is due at once goes to several gateways. */
const oneOfEach = ({ wants, ...rest }: ClaimRequest): ClaimRequest => ({
  ...rest,
  wants: wants.map((want) => ({ ...want, limit: Math.min(1, want.limit) })),
});

/** A gateway's store whose calls reach the database, and whose answers come back, when `interleaver` says so. */
export function heldStore(
  real: Store,
  gateway: string,
  parts: {
    readonly interleaver: Interleaver;
    readonly onCarried: (call: Carried) => void;
    readonly onNotify: (wake: Wake) => void;
  },
): HeldStore {
  const { interleaver, onCarried, onNotify } = parts;
  const listeners = new Set<(wake: Wake) => void>();
  let calls = 0;
  let dead = false;
  const turn = async (what: string): Promise<void> => {
    if (!dead) await interleaver.turn(what);
    if (dead) await new Promise(() => {});
  };
  const held = (method: Held) =>
    async function call(...args: unknown[]): Promise<unknown> {
      calls += 1;
      const name = `${gateway}: ${method} ${calls}`;
      await turn(name);
      const run = real[method] as (...all: unknown[]) => Promise<unknown>;
      const given =
        method === "claim" && interleaver.chance(0.5)
          ? args.map((request) => oneOfEach(request as ClaimRequest))
          : args;
      const result = await interleaver.during(() => run(...given));
      onCarried({ gateway, method, args, result, at: interleaver.now });
      if (interleaver.chance(0.5)) await turn(`${name} is answered`);
      return result;
    };
  /** Done at once; nothing else happens meanwhile. */
  const atOnce =
    (method: unknown) =>
    (...args: unknown[]): Promise<unknown> =>
      interleaver.during(async () => (method as (...all: unknown[]) => unknown)(...args));
  const store = {
    ...Object.fromEntries(Object.entries(real).map(([name, method]) => [name, atOnce(method)])),
    ...Object.fromEntries(HELD.map((method) => [method, held(method)])),
    // Nothing is looked for by time: that, too, is a move.
    nextDueInMs: () => Promise.resolve(null),
    notify: onNotify,
    onWake: (listener: (wake: Wake) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    store: store as unknown as Store,
    kill: () => {
      dead = true;
    },
    wake: (wake) => {
      for (const listener of listeners) listener(wake);
    },
  };
}
