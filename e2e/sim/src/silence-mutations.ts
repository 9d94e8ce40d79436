import type { Guard } from "./guard.ts";

const SDK = "packages/sdk/src/connect";

/** Of what keeps a worker that was silent from what others have got meanwhile. */
export const SILENCE_GUARDS: readonly Guard[] = [
  {
    name: "a thread that was paused doubts what it holds",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/run-thread.ts`,
        find: "    this.#desk.doubt();\n    const message",
        replace: "    const message",
      },
    ],
  },
  {
    name: "the look at the pause comes before each frame",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/run-thread.ts`,
        find: "        this.#sign.look();\n        this.#desk.onFrame(frame, bytes);",
        replace: "        this.#desk.onFrame(frame, bytes);",
      },
    ],
  },
  {
    name: "main begins nothing while the thread is silent",
    against: "suspensions",
    edits: [{ file: `${SDK}/main/begin-gate.ts`, find: "!shared.isSilent(signOf(clock)) && ", replace: "" }],
  },
  {
    name: "main begins nothing that is not confirmed as of the thread's epoch",
    against: "suspensions",
    edits: [{ file: `${SDK}/main/begin-gate.ts`, find: "shared.readEpoch() === epoch && ", replace: "" }],
  },
  {
    name: "main begins nothing while a message that takes work away waits to be read",
    against: "suspensions",
    edits: [{ file: `${SDK}/main/begin-gate.ts`, find: " && shared.readWorkTaken() === this.#taken", replace: "" }],
  },
  {
    name: "an answer that was under way before the pause confirms nothing",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/core/lease-table.ts`,
        find: "const isFresh = lease.stale === 0;",
        replace: "const isFresh = true;",
      },
    ],
  },
  {
    name: "a request that is read after a pause is confirmed first",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/desk.ts`,
        find: "this.flights.add(identityOf(request), leaseId, !this.#inDoubt);\n        if (!this.#inDoubt) return",
        replace: "this.flights.add(identityOf(request), leaseId, true);\n        return",
      },
    ],
  },
  {
    name: "a lost connection puts in doubt what it brought",
    against: "suspensions",
    edits: [
      {
        file: `${SDK}/thread/desk.ts`,
        find: "    // Without a connection for long enough the gateway gives the work to others.\n    this.doubt();",
        replace: "",
      },
    ],
  },
];
