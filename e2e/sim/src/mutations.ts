/**
 * Guards of the product that can be switched off in a bundle. The simulation must notice each:
 * `e2e/long/simulation-bites.e2e.test.ts`.
 */
import { DOUBT_GUARDS } from "./doubt-mutations.ts";
import { ENGINE_GUARDS } from "./engine-mutations.ts";
import { ENVIRONMENT_GUARDS } from "./environment-mutations.ts";
import type { Guard } from "./guard.ts";
import { ISOLATION_GUARDS } from "./isolation-mutations.ts";
import { LOOK_AHEAD_GUARDS } from "./look-ahead-mutations.ts";
import { OPERATOR_GUARDS } from "./operator-mutations.ts";
import { OWNERSHIP_GUARDS } from "./ownership-mutations.ts";
import { PAUSE_GUARDS } from "./pause-mutations.ts";
import { QUEUE_GUARDS } from "./queue-mutations.ts";
import { REGISTRY_GUARDS } from "./registry-mutations.ts";

const SDK = "packages/sdk/src/connection";

const CONNECTION_GUARDS: readonly Guard[] = [
  {
    name: "a new connection thread adopts the ledger",
    edits: [
      {
        file: `${SDK}/main/open-connection.ts`,
        find: "const adopted = this.#ledger.requestsToAdopt();",
        replace: "const adopted: never[] = [];",
      },
    ],
  },
  {
    name: "a write carries the epoch of its dispatch",
    edits: [
      {
        file: "packages/store/src/rules/plan.ts",
        find: " || !isDispatch(job, fence, resent)) return",
        replace: ") return",
      },
    ],
  },
  {
    name: "a request that is known is not run again",
    edits: [
      {
        file: `${SDK}/machines/acceptance.ts`,
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
        file: `${SDK}/machines/link-machine.ts`,
        find: 'announcement(generation, closing || (active.hasStalled && pauses === "all"))',
        replace: 'announcement(generation, active.hasStalled && pauses === "all")',
      },
    ],
  },
  {
    name: "what was not acknowledged is sent again",
    edits: [
      {
        file: `${SDK}/machines/outbox.ts`,
        find: "nextDueMs(): number | null {",
        replace: "nextDueMs(): number | null { return null;",
      },
    ],
  },
  {
    name: "the first result of a step stays",
    edits: [
      {
        file: "packages/store/src/rules/plan-intake.ts",
        find: "if (found.facts.has(key) || ofBatch.has(key)) return false;",
        replace: "if (found.facts.size < 0) return false;",
      },
    ],
  },
  {
    name: "unfinished work is handed back at the end of a drain",
    edits: [
      {
        file: `${SDK}/thread/refusals.ts`,
        find: 'this.nack({ requestId, runId }, leaseId, "DRAIN_TIMEOUT", "The worker shut down before the work was done.");',
        replace: "",
      },
      // The other way back: the close code says that the worker ends.
      {
        file: "gateway-mock/src/dispatch/workers/presence.ts",
        find: "=> final || sentMs === null;",
        replace: "=> sentMs === null;",
      },
    ],
  },
  {
    name: "what a superseded socket says changes nothing",
    edits: [
      {
        file: `${SDK}/machines/link-machine.ts`,
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
        find: "this.#sendExtensions(inFlight.leases.extendAll(readClocks(clock)));",
        replace: "",
      },
    ],
  },
  {
    name: "a decision holds only for the version it was made on",
    edits: [
      {
        file: "packages/store/src/rules/plan.ts",
        find: 'return cas === "live" || cas === run.version ? undefined : "version";',
        replace: "return undefined;",
      },
    ],
  },
  {
    name: "a silent peer is dead after two heartbeats",
    edits: [
      {
        file: `${SDK}/machines/link-machine.ts`,
        find: "if (active.unanswered >= TIMEOUTS.missedHeartbeats) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a request that was not acknowledged goes elsewhere",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/dispatches.ts",
        find: "    this.abandon(late, () => false);",
        replace: "",
      },
    ],
  },
  {
    name: "time is the database's",
    edits: [
      {
        file: "gateway-mock/src/dispatch/database-time.ts",
        find: "if (this.#offset === null) return this.#clock.nowMs();",
        replace: "if (true) return this.#clock.nowMs();",
      },
    ],
  },
  {
    name: "a pass that may have been claimed is not replaced",
    edits: [
      {
        file: "packages/engine/src/decide/draft.ts",
        find: "Math.max(CLAIM_MARGIN_MS, delayMs)",
        replace: "Math.max(-60_000, delayMs - 60_000)",
      },
    ],
  },
  {
    name: "an outbox that is full takes on no work",
    edits: [{ file: `${SDK}/machines/acceptance.ts`, find: "if (facts.outboxFull) {", replace: "if (false) {" }],
  },
  {
    name: "work whose lease is refused is given up",
    edits: [
      {
        file: `${SDK}/thread/lease-keeper.ts`,
        find: 'if (verdict === "lost" && request?.state === "running") this.#onLost(request);',
        replace: "",
      },
    ],
  },
  {
    name: "a request is posted to main before it is acknowledged",
    edits: [
      {
        file: `${SDK}/thread/run-thread.ts`,
        find: "    port.flush();\n    flushSends();",
        replace: "    flushSends();\n    port.flush();",
      },
    ],
  },
];

const STEP_GUARDS: readonly Guard[] = [
  {
    name: "what a body comes to after its timeout is dropped",
    edits: [
      {
        file: "packages/sdk/src/execution/run-body.ts",
        find: "if (!this.#running.end()) return;",
        replace: "this.#running.end();",
      },
    ],
  },
];

/** Switched off one at a time; the simulation must notice each. */
export const GUARDS: readonly Guard[] = [
  ...CONNECTION_GUARDS,
  ...DOUBT_GUARDS,
  ...ENGINE_GUARDS,
  ...REGISTRY_GUARDS,
  ...OWNERSHIP_GUARDS,
  ...ENVIRONMENT_GUARDS,
  ...LOOK_AHEAD_GUARDS,
  ...STEP_GUARDS,
  ...QUEUE_GUARDS,
  ...OPERATOR_GUARDS,
  ...PAUSE_GUARDS,
  ...ISOLATION_GUARDS,
];
