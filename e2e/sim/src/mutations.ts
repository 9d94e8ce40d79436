/** A guard of the production code, and how it is switched off in a bundle of the simulation. */
export interface Guard {
  readonly name: string;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}

const SDK = "packages/sdk/src/connect";
const ENGINE = "gateway-mock/src/engine";
const STORE = "gateway-mock/src/store";

/** Switched off one at a time; the simulation must notice each. */
export const GUARDS: readonly Guard[] = [
  {
    name: "a new connection thread adopts the ledger",
    edits: [
      {
        file: `${SDK}/main/open-connection.ts`,
        find: "const adopted = this.#ledger.adopt();",
        replace: "const adopted: never[] = [];",
      },
    ],
  },
  {
    name: "a write carries the epoch of its dispatch",
    edits: [{ file: `${STORE}/batch-plan.ts`, find: " || job.epoch !== fence.epoch) return", replace: ") return" }],
  },
  {
    name: "a request that is known is not run again",
    edits: [
      {
        file: `${SDK}/core/intake.ts`,
        find: 'if (facts.isInFlight(request.requestId)) return { verdict: "duplicate" };',
        replace: "",
      },
      { file: `${SDK}/main/ledger.ts`, find: "if (this.#entries.has(requestId)) return undefined;", replace: "" },
    ],
  },
  {
    name: "a connection that is made while closing announces itself with WORKER_PAUSE",
    edits: [
      {
        file: `${SDK}/core/link-machine.ts`,
        find: 'kind: paused || stalled ? "WORKER_PAUSE" : "WORKER_READY"',
        replace: 'kind: stalled ? "WORKER_PAUSE" : "WORKER_READY"',
      },
    ],
  },
  {
    name: "what was not acknowledged is sent again",
    edits: [
      {
        file: `${SDK}/core/outbox.ts`,
        find: "nextDueMs(): number | null {",
        replace: "nextDueMs(): number | null { return null;",
      },
    ],
  },
  {
    name: "the first result of a step stays",
    edits: [
      {
        file: "e2e/sim/src/database/runs.ts",
        find: "if (!run || run.keys.has(rowKey(row))) return false;",
        replace: "if (!run) return false;",
      },
    ],
  },
  {
    name: "unfinished work is handed back at the end of a drain",
    edits: [
      {
        file: `${SDK}/thread/desk.ts`,
        find: 'this.#nack(identity, leaseId, "DRAIN_TIMEOUT", "The worker ended before the work was done.");',
        replace: "",
      },
      // The other way back: the close code says that the worker ends.
      {
        file: `${ENGINE}/presence.ts`,
        find: "if (final) return this.#dispatches.giveUp(held, () => false);",
        replace: "",
      },
    ],
  },
  {
    name: "what a superseded socket says changes nothing",
    edits: [
      {
        file: `${SDK}/core/link-machine.ts`,
        find: "if (active?.generation === event.generation) return stepActive",
        replace: "if (active) return stepActive",
      },
    ],
  },
  {
    name: "leases are extended at once after a reconnect",
    edits: [
      {
        file: `${SDK}/thread/lease-keeper.ts`,
        find: "this.#extend(flights.leases.extendAll(clock.monotonicMs()));",
        replace: "",
      },
    ],
  },
  {
    name: "a decision holds only for the version it was made on",
    edits: [
      {
        file: `${STORE}/batch-plan.ts`,
        find: 'return cas === "live" || cas === run.version ? undefined : "version";',
        replace: "return undefined;",
      },
    ],
  },
  {
    name: "a silent peer is dead after two heartbeats",
    edits: [
      {
        file: `${SDK}/core/link-machine.ts`,
        find: "if (active.unanswered >= TIMEOUTS.missedHeartbeats) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a request that nobody acknowledged goes elsewhere",
    edits: [{ file: `${ENGINE}/dispatches.ts`, find: "    this.giveUp(late, () => false);", replace: "" }],
  },
  {
    name: "time is the database's",
    edits: [
      {
        file: `${ENGINE}/decider.ts`,
        find: "return this.#offset === null ?",
        replace: "return true ?",
      },
    ],
  },
  {
    name: "a pass that may have been claimed is not replaced",
    edits: [
      {
        file: `${ENGINE}/draft.ts`,
        find: "Math.max(CLAIM_MARGIN_MS, delayMs)",
        replace: "Math.max(-60_000, delayMs - 60_000)",
      },
    ],
  },
  {
    name: "a request is posted to main before it is acknowledged",
    edits: [
      {
        file: `${SDK}/thread/run-thread.ts`,
        find: "    port.flush();\n    release();",
        replace: "    release();\n    port.flush();",
      },
    ],
  },
  {
    name: "an agent that is told it is late holds nothing any more",
    edits: [
      {
        file: `${ENGINE}/reports.ts`,
        find: 'if (done.outcome === "stale" && dispatch) this.#dispatches.finish(dispatch);',
        replace: "",
      },
    ],
  },
  {
    name: "a deadline has a timer of its own",
    edits: [
      {
        file: `${ENGINE}/new-run.ts`,
        find: 'if (fn.deadlineInMs !== null) add("timer", DEADLINE, fn.deadlineInMs);',
        replace: "",
      },
    ],
  },
  {
    name: "a run that has to fail undoes first",
    edits: [
      {
        file: `${ENGINE}/run-ends.ts`,
        find: "if (state.undoable.length === 0 && !draft.log.some(isUndoable)) return end(draft, error);",
        replace: "return end(draft, error);",
      },
    ],
  },
  {
    name: "a checkpointed step that can be undone raises the version",
    edits: [
      {
        file: `${ENGINE}/reports.ts`,
        find: "const version = ops.some(({ opts }) => opts?.compensate === true) ? LIVE : { cas: null };",
        replace: "const version = { cas: null };",
      },
    ],
  },
  {
    name: "a run that waits for an event is told of it whoever dies",
    edits: [
      {
        file: `${STORE}/plan-intake.ts`,
        find: "if (awaited) writes.jobs.push(eventJob(event.id, item.lease ?? null));",
        replace: "",
      },
    ],
  },
  {
    name: "what a run waits for ends a step once",
    edits: [
      {
        file: `${ENGINE}/decide.ts`,
        find: "if (!state.waits.includes(input.key) || state.memo.has(input.key)) return null;",
        replace: "",
      },
    ],
  },
  {
    name: "an event whose time lies ahead starts its runs then",
    edits: [
      {
        file: `${ENGINE}/intake.ts`,
        find: "const startMs = tsMs > nowMs + FUTURE_MS ? tsMs : null;",
        replace: "const startMs = null;",
      },
    ],
  },
  {
    name: "work of functions with limits is not born leased",
    edits: [
      {
        file: `${ENGINE}/starter.ts`,
        find: "const held = start.lane || start.gates.length > 0 || options.startMs;",
        replace: "const held = options.startMs;",
      },
    ],
  },
  {
    name: "all jobs of a run keep its places",
    edits: [{ file: `${ENGINE}/decider.ts`, find: "laneOf(flow?.slots ?? [])", replace: "laneOf([])" }],
  },
  {
    name: "a throttle paces starts",
    edits: [
      {
        file: `${ENGINE}/triggers.ts`,
        find: "const throttle = plan.throttle ? digest(reader.key(plan.throttle.key)) : null;",
        replace: "const throttle = null;",
      },
    ],
  },
  {
    name: "a rate limit counts",
    edits: [{ file: `${STORE}/batch-gates.ts`, find: ">= gate.limit :", replace: "> gate.limit :" }],
  },
  {
    name: "a debounced window is not over before its time",
    edits: [
      {
        file: `${STORE}/batch-gates.ts`,
        find: 'if (wanted.kind === "debounce" && (state.dueMs ?? 0) > atMs) return false;',
        replace: "",
      },
      {
        file: `${ENGINE}/scheduler.ts`,
        find: 'if (window.kind === "debounce" && window.dueInMs > 0) {',
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a window that has changed since it was read makes no run",
    edits: [
      {
        file: `${STORE}/batch-gates.ts`,
        find: " || state.count !== wanted.count) return false;",
        replace: ") return false;",
      },
    ],
  },
  {
    name: "a full batch is closed",
    edits: [{ file: `${STORE}/batch-gates.ts`, find: "if (state.count >= entry.maxSize)", replace: "if (false)" }],
  },
  {
    name: "a singleton skips while a run is live",
    edits: [{ file: `${STORE}/batch-gates.ts`, find: 'gate.mode === "skip" && state.live', replace: "false" }],
  },
  {
    name: "a singleton that cancels cancels the run before",
    edits: [
      {
        file: `${STORE}/batch-gates.ts`,
        find: "if (state.live) jobs.push(looseJob(",
        replace: "if (false) jobs.push(looseJob(",
      },
    ],
  },
  {
    name: "a schedule ticks under the fence of its job",
    edits: [
      {
        file: `${STORE}/plan-intake.ts`,
        find: "|| job.epoch !== fence.epoch || writes.removeJobs.includes(fence.jobId)) return false;",
        replace: "|| writes.removeJobs.includes(fence.jobId)) return false;",
      },
    ],
  },
  {
    name: "a run is told of the event that cancels it",
    edits: [{ file: `${ENGINE}/new-run.ts`, find: "...(waits.length > 0 ? { waits } : {}),", replace: "" }],
  },
  {
    name: "with the strict policy work waits for its version",
    edits: [
      {
        file: `${ENGINE}/placing.ts`,
        find: 'if (settings.versionPolicy === "strict") return this.#hold(job, HOLD_FOR_NOBODY_MS);',
        replace: "",
      },
    ],
  },
  {
    name: "only a run that nobody has begun is cancelled by its start timeout",
    edits: [
      {
        file: `${ENGINE}/scheduler.ts`,
        find: "      jobId: key,\n      epoch: 0,\n    });",
        replace: "      jobId: key,\n      epoch: 1,\n    });",
      },
    ],
  },
  {
    name: "the deadline of a run whose event lies ahead counts from then",
    edits: [
      {
        file: `${ENGINE}/new-run.ts`,
        find: "...(fn.deadlineInMs === null || !startMs ? {} : { startMs }),",
        replace: "",
      },
    ],
  },
];
