/** Mutations of the guards around requests that pool threads run; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const SDK = "packages/sdk/src/connection";
const ISOLATION = "packages/sdk/src/isolation";
const POOL_THREAD = `${SDK}/pool-thread/handler-thread.ts`;

/** What keeps the promise when pool threads and connection threads die at any moment. */
export const ISOLATION_GUARDS: readonly Guard[] = [
  {
    name: "a pool thread says its checkpoints again to a new connection thread",
    against: "poolThreads",
    edits: [
      {
        file: POOL_THREAD,
        find: "for (const request of this.#ledger.requestsToAdopt()) this.#sendAgain(request);",
        replace: "",
      },
    ],
  },
  {
    name: "a request that a pool thread never got goes to another turn",
    against: "poolThreads",
    edits: [
      {
        file: POOL_THREAD,
        find: 'else this.#send({ type: "UNKNOWN_REQUEST", requestId, mayHaveBegun: turn <= this.#bornInTurn });',
        replace: "",
      },
    ],
  },
  {
    name: "a new connection thread learns who runs a request",
    against: "poolThreads",
    edits: [
      {
        file: `${SDK}/main/ledger.ts`,
        find: "...(entry.isolated === undefined ? {} : { isolated: entry.isolated }),",
        replace: "",
      },
    ],
  },
  {
    name: "a request whose pool thread ended is not left without an answer",
    against: "poolThreads",
    edits: [
      {
        file: `${SDK}/thread/isolated-requests.ts`,
        find: "this.#failTurns(slot, error ?? lastWords ?? toPlainError(endedSilently()));",
        replace: "void [error, lastWords];",
      },
    ],
  },
  {
    name: "a handler begins only in a turn that its pool thread still has",
    against: "poolThreads",
    edits: [
      {
        file: POOL_THREAD,
        find: 'if (status.state !== "connection" || status.turn !== turn) return;',
        replace: "void status;",
      },
    ],
  },
  {
    name: "a body that is told late to begin asks main again",
    against: "poolBodies",
    edits: [
      {
        file: `${ISOLATION}/shared/isolation-messages.ts`,
        find: "return suspensionBetween(asOf, readClocks(clock), CONFIRMED_MS) !== null;",
        replace: "return suspensionBetween(asOf, readClocks(clock), CONFIRMED_MS) === 0;",
      },
    ],
  },
  {
    name: "a turn whose pool thread ended is settled",
    against: "poolBodies",
    edits: [
      {
        file: `${ISOLATION}/main/pool-thread.ts`,
        find: "this.#gone(isShortage ? notStarted(this.#error) : this.#reason(code), isShortage);",
        replace: "void (isShortage ? notStarted(this.#error) : this.#reason(code));",
      },
    ],
  },
  {
    name: "a turn that was withdrawn goes to no other thread",
    against: "bodyMoments",
    edits: [
      {
        file: `${ISOLATION}/machines/pool-machine.ts`,
        find: 'if (isWithdrawn) return [state, [{ do: "DROP", key: turn.key }]];',
        replace: "void isWithdrawn;",
      },
    ],
  },
  {
    name: "close() ends the threads of the pool",
    against: "bodyMoments",
    edits: [{ file: `${SDK}/main/closer.ts`, find: "else void closed.then(end, end);", replace: "else end();" }],
  },
  {
    name: "close() waits for the threads of the pool within its bound",
    against: "bodyMoments",
    edits: [{ file: `${SDK}/main/closer.ts`, find: "if (isClosing) end();", replace: "" }],
  },
];
