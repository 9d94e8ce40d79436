/**
 * Mutations of the guards that keep a worker that was silent from repeating what others have got meanwhile; see
 * `mutations.ts`.
 */
import type { Guard } from "./guard.ts";

const SDK = "packages/sdk/src/connection";

/**
 * Of what keeps a worker that was silent from what others have got meanwhile. Some of its guards stand in for each other, so that the
 * simulation does not miss one alone: main's epoch, the count of what was taken away, the doubt after a lost connection, and that
 * nothing begins while the thread is silent (who is silent for longer than a suspension has no word that is younger). So do what a
 * gateway looks at by the wall clock and what a worker does when it wakes (YOUNG-2), and the checks of a lease's age when the
 * store's answer comes and when its request has found room. Unit tests do.
 */
export const DOUBT_GUARDS: readonly Guard[] = [
  {
    name: "a thread that was suspended doubts what it holds",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/connection-thread.ts`,
        find: "    requests.beginDoubt();\n    const message",
        replace: "    const message",
      },
    ],
  },
  {
    name: "nothing begins on a word of the gateway that is old",
    against: "silentNetwork",
    edits: [
      {
        file: `${SDK}/main/lease-guard.ts`,
        find: "return isKnown && this.#isRecent(requestId, now);",
        replace: "return isKnown;",
      },
    ],
  },
  {
    name: "an answer that was under way before the suspension confirms nothing",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/machines/lease-table.ts`,
        find: "const isFresh = lease.stale === 0;",
        replace: "const isFresh = true;",
      },
    ],
  },
  {
    name: "a request that is read after a suspension is confirmed first",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/handover-guard.ts`,
        find: "return this.#inDoubt || lateMs > this.#maxLateMs",
        replace: "return lateMs > this.#maxLateMs",
      },
    ],
  },
  {
    name: "a gateway that did not agree on stalls gets no WORKER_PAUSE for one",
    against: "plainPeer",
    edits: [
      {
        file: `${SDK}/machines/link-machine.ts`,
        find: 'if (!agreed("stall")) return "nothing";',
        replace: 'if (!agreed("stall")) return "all";',
      },
    ],
  },
  {
    name: "a request leaves only under a young lease",
    against: "lateAnswers",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/lease-age.ts",
        find: "leaseMs / 2) !== null;",
        replace: "leaseMs / 2) === 0;",
      },
    ],
  },
  {
    name: "a lease is asked for once more only where the job is still ours",
    against: "lateAnswers",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/late-leases.ts",
        find: "if (!ours[index]) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a lease is granted only while it is young",
    against: "lateMoments",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/leases.ts",
        find: "if (extended[index] && isLeaseOld(leasedAt, request.worker.session.leaseMs, clock)) continue;",
        replace: "void leasedAt;",
      },
    ],
  },
];
