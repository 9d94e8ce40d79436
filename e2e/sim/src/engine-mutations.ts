/** Mutations of the guards around flow control, waits, timers and the ends of runs; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

/** Of what functions ask of the engine. */
export const ENGINE_GUARDS: readonly Guard[] = [
  {
    name: "a worker that is told it is late holds nothing any more",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/worker-replies.ts",
        find: 'if (done.outcome === "stale" && dispatch) this.#dispatches.finish(dispatch);',
        replace: "",
      },
    ],
  },
  {
    name: "events that came before a wait are looked for",
    against: "earlyEvents",
    edits: [
      {
        file: "packages/engine/src/decide/waits.ts",
        find: "if (isSinceRun && draft.waits.has(op.id)) lookForEarlier(draft, op.id);",
        replace: "",
      },
    ],
  },
  {
    name: "a run that another one waits for is not removed",
    against: "pruning",
    edits: [
      {
        file: "packages/store/src/memory/needed.ts",
        find: '  return jobs.has({ runId: "", kind: "child", key: runId }) || runsTable.waits.hasParent(runId);',
        replace: "  return jobs === undefined || runsTable === undefined;",
      },
    ],
  },
  {
    name: "the end of a chain is what waits for its first run",
    against: "chains",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/wait-notifier.ts",
        find: "name: root ?? runId,",
        replace: "name: runId,",
      },
    ],
  },
  {
    name: "a deadline has a timer of its own",
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/new-run.ts",
        find: "if (fn.deadlineInMs !== null) addTimer(DEADLINE, fn.deadlineInMs);",
        replace: "",
      },
    ],
  },
  {
    name: "a run that has to fail undoes first",
    edits: [
      {
        file: "packages/engine/src/decide/run-ends.ts",
        find: "if (isNonDeterminism(error) || (state.undoable.length === 0 && !draft.log.some(isUndoable))) return end(draft, error);",
        replace: "return end(draft, error);",
      },
    ],
  },
  {
    name: "an event whose time lies ahead starts its runs then",
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/starting-event.ts",
        find: "const startMs = tsMs > nowMs + FUTURE_MS ? tsMs : null;",
        replace: "const startMs = null;",
      },
    ],
  },
  {
    name: "work of functions with limits is not leased on creation",
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/starter.ts",
        find: "const isLimited = start.lane !== null || start.flowRules.length > 0;",
        replace: "const isLimited = false;",
      },
    ],
  },
  {
    name: "all jobs of a run keep its places",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/next-jobs.ts",
        find: "laneOf(fn?.onlyLane?.slots ?? flow?.slots ?? [])",
        replace: "laneOf([])",
      },
    ],
  },
  {
    name: "a throttle paces starts",
    edits: [
      {
        file: "packages/engine/src/flow/triggers.ts",
        find: "const throttle = settings.throttle\n",
        replace: "const throttle = settings.throttle && false\n",
      },
    ],
  },
  {
    name: "a rate limit counts",
    edits: [
      {
        file: "packages/store/src/rules/flow-rules.ts",
        find: "atMs) >= flowRule.limit",
        replace: "atMs) > flowRule.limit",
      },
    ],
  },
  {
    name: "a debounced window is not over before its time",
    edits: [
      {
        file: "packages/store/src/rules/flow-rules.ts",
        find: 'if (wanted.kind === "debounce" && (state.dueMs ?? 0) > atMs) return false;',
        replace: "",
      },
      {
        file: "gateway-mock/src/dispatch/queue/scheduler.ts",
        find: 'if (window.kind === "debounce" && window.dueInMs > 0) {',
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a full batch is closed",
    edits: [
      {
        file: "packages/store/src/rules/flow-rules.ts",
        find: "if (state.count >= entry.maxSize)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "a singleton skips while a run is live",
    edits: [
      {
        file: "packages/store/src/rules/flow-rules.ts",
        find: 'flowRule.mode === "skip" && state.live',
        replace: "false",
      },
    ],
  },
  {
    name: "a singleton that cancels cancels the run before",
    edits: [
      {
        file: "packages/store/src/rules/flow-rules.ts",
        find: "if (state.live && flowRule.continues === undefined)",
        replace: "if (false)",
      },
    ],
  },
  {
    name: "a run is notified of the event that cancels it",
    edits: [
      {
        file: "gateway-mock/src/dispatch/events/new-run.ts",
        find: "if (waits.length > 0) made.waits = waits;",
        replace: "",
      },
    ],
  },
  {
    name: "with the strict policy work waits for its version",
    edits: [
      {
        file: "gateway-mock/src/dispatch/admission/may-start.ts",
        find: 'if (facts.versionPolicy === "strict") return { may: false, why: "VERSION", isElsewhere: false };',
        replace: "",
      },
    ],
  },
  {
    name: "only a run that no worker has started is cancelled by its start timeout",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/scheduler.ts",
        find: "      jobId: key,\n      epoch: 0,\n    });",
        replace: "      jobId: key,\n      epoch: 1,\n    });",
      },
    ],
  },
];
