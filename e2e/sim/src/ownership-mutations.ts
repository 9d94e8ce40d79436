/** Mutations of the guards that keep workers to the requests of their own apps; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

/** Of what keeps workers to the requests of their own apps, and sessions to those whose they are. */
export const OWNERSHIP_GUARDS: readonly Guard[] = [
  {
    name: "a reply is about a request of an app of its worker's",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/worker-replies.ts",
        find: "if (!(dispatch ? holds(from, dispatch, response.runId) : await this.#isOwner(from, runId))) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a checkpoint is about a request of an app of its worker's",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/worker-replies.ts",
        find: "if (!(dispatch ? holds(from, dispatch, givenRunId) : await this.#loadAndCheckOwner(from, runId))) {",
        replace: "if (false) {",
      },
    ],
  },
  {
    name: "a lease is extended for a worker of its request's app",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/leases.ts",
        find: "const appId = fence && this.#ownership.leaseholder(request.worker, request.frame);",
        replace: 'const appId = fence && (this.#dispatches.get(asked.frame.requestId)?.appId ?? "sim");',
      },
    ],
  },
  {
    name: "work is handed back by a worker of its app",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/queue/worker-replies.ts",
        find: "if (!isTheirs) return",
        replace: "if (false) return",
      },
    ],
  },
  {
    name: "a lease is shown by what its request, run and app come to",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/lease-proofs.ts",
        find: 'this.#digest("lease", request.requestId, request.runId, appId, endsMs)',
        replace: 'this.#digest("lease", appId, endsMs)',
      },
    ],
  },
  {
    name: "a lease that was proven once is proven for its request",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/lease-proofs.ts",
        find: "if (known?.requestId === request.requestId && known.runId === request.runId) {",
        replace: "if (known) {",
      },
    ],
  },
  {
    name: "a lease shows whose a report is in its own environment alone",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/ownership.ts",
        find: "environmentOf(appId) === environment && holds(appId)",
        replace: "holds(appId)",
      },
    ],
  },
  {
    name: "a reply by HTTP shows that it knows its app",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/ownership.ts",
        find: "environmentOf(appId) === environment && proofs.isAppUuid(uuid, appId)",
        replace: "environmentOf(appId) === environment",
      },
    ],
  },
  {
    name: "a worker's report of a stall is about an app of its own",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/stalls.ts",
        find: "if (!isUlid(runId) || !worker.functionIds.has(qualify(worker.session.environment, functionSlug))) return;",
        replace: "",
      },
      {
        file: "gateway-mock/src/dispatch/workers/stalls.ts",
        find: "if (!known || !worker.appIds.has(known.appId)) return;",
        replace: "if (!known) return;",
      },
      {
        file: "gateway-mock/src/dispatch/workers/stalls.ts",
        find: "if (known.functionId !== qualify(worker.session.environment, functionSlug)) return;",
        replace: "",
      },
    ],
  },
  {
    name: "a request is acknowledged by a worker of its app",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/dispatch/workers/acknowledge-request.ts",
        find: 'if (!worker.appIds.has(dispatch.appId)) return ownership.recordRefusal(worker, "An acknowledgement", frame);',
        replace: "void ownership;",
      },
    ],
  },
  {
    name: "a session token is used up",
    against: "impostors",
    edits: [
      {
        file: "gateway-mock/src/gateway-core.ts",
        find: "!keys.enforced || (await store.useToken(connectionId, GATEWAY_LIMITS.sessionTokenMs))",
        replace: "true",
      },
    ],
  },
];
