/** Mutations of the guards around paused functions and the reasons of runs; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

export const PAUSE_GUARDS: readonly Guard[] = [
  {
    name: "nothing of a paused function is handed out",
    against: "pauses",
    edits: [
      {
        file: "gateway-mock/src/dispatch/dispatcher-parts.ts",
        find: "isPaused: (id) => controls.pauseOf(id) !== null",
        replace: 'isPaused: (id) => id === "?"',
      },
    ],
  },
  {
    name: "a claim that rests on what was set before is refused",
    against: "pauses",
    edits: [
      {
        file: "packages/store/src/memory/store-on-tables.ts",
        find: "        this.#tables.expectInTime(request);\n        return this.#tables.jobs.claim(",
        replace: "        return this.#tables.jobs.claim(",
      },
    ],
  },
];
