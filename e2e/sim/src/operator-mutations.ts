/** Mutations of the guards around repairs, bulk jobs, live streams and callers; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const BULK = "gateway-mock/src/dispatch/repair/bulk-jobs.ts";
const BULK_ACTIONS = "gateway-mock/src/dispatch/repair/bulk-actions.ts";

export const OPERATOR_GUARDS: readonly Guard[] = [
  {
    name: "a fork keeps what had ended before its step",
    against: "operators",
    edits: [
      {
        file: "packages/engine/src/run/forked-log.ts",
        find: "    if (kept === key) continue;",
        replace: "    if (kept === key || rows.length > 0) continue;",
      },
    ],
  },
  {
    name: "a bulk job counts what it had done of an interrupted chunk",
    against: "operators",
    edits: [{ file: BULK, find: "      progress = await this.#countGone(bulk, progress, page);\n", replace: "" }],
  },
  {
    name: "a rerun of a bulk job has an id that follows from job and run",
    against: "operators",
    edits: [{ file: BULK_ACTIONS, find: ", newRunId: rerunIdOf(bulk.id, runId) }", replace: " }" }],
  },
  {
    name: "a run that is waited for is not deleted",
    against: "operators",
    edits: [
      {
        file: "packages/store/src/memory/repairs.ts",
        find: 'if (isRunNeeded(tables, runId)) return "needed";',
        replace: "",
      },
    ],
  },
  {
    name: "a watcher goes on from the position of what it had last",
    against: "watchers",
    edits: [
      {
        file: "gateway-mock/src/live/watch.ts",
        find: "    this.#position = position;\n    reader.add(this);",
        replace: "    this.#position = null;\n    reader.add(this);",
      },
    ],
  },
  {
    name: "a resumed run drops failed steps alone",
    against: "operators",
    edits: [
      {
        file: "packages/engine/src/run/forked-log.ts",
        find: "return { ok: true, dropped: [...dropped, ...undoing] };",
        replace: "return { ok: true, dropped: [...end.settled.keys()] };",
      },
    ],
  },
  {
    name: "an invocation that is repeated is the same run",
    against: "callers",
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/invocations.ts",
        find: "...(key === null ? {} : { idempotencyKey: key, keyKeptMs: INVOCATION_ID_MS }),",
        replace: "",
      },
    ],
  },
];
