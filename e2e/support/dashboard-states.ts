/** What the golden screenshots of the dashboard show: answers of the API that are the same each time. */
import { readFileSync } from "node:fs";

/** The moment at which all of it is looked at. */
export const NOW_MS = Date.UTC(2026, 4, 12, 9, 30);

export interface DashboardState {
  readonly name: string;
  readonly path: string;
  /** Something that is there once all is. */
  readonly ready: string;
  /** By the beginning of a request's path; the longest that fits counts. */
  readonly answers: Readonly<Record<string, unknown>>;
}

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const idOf = (n: number): string =>
  `01K${ALPHABET[Math.floor(n / 32) % 32]}${ALPHABET[n % 32]}${"HOLDFAST".repeat(3)}`.slice(0, 26);

function runOf(n: number, more: object = {}): Record<string, unknown> {
  const createdMs = NOW_MS - 1_000 * (3 + n * 47);
  return {
    ...{ id: idOf(900 - n), functionId: "shop-order", appId: "shop", environment: "default", appVersion: "2026-05-11" },
    ...{ status: "COMPLETED", eventId: idOf(n), eventName: "shop/order", output: { ok: true }, error: null },
    ...{ createdMs, startedMs: createdMs + 12, endedMs: createdMs + 1_240, waiting: null },
    ...more,
  };
}

const declined = {
  name: "PaymentDeclined",
  message: "The card was declined: insufficient funds.",
  stack:
    "PaymentDeclined: The card was declined: insufficient funds.\n    at charge (/srv/shop/payments.ts:41:11)\n    at async order (/srv/shop/order.ts:17:19)",
  cause: {
    name: "HttpError",
    message: "402 Payment Required",
    stack: "HttpError\n    at post (/srv/shop/http.ts:9:5)",
  },
};
const waiting = { reason: "STEP_WAITING", untilMs: null, step: "approval", runId: null, instanceId: null };
const LONG = "a-function-whose-name-goes-on-and-on-because-somewhere-a-team-has-agreed-on-very-descriptive-identifiers";

const VARIANTS: readonly object[] = [
  {},
  { status: "FAILED", error: declined },
  {
    status: "WAITING",
    endedMs: null,
    waiting: { ...waiting, message: 'It waits in the step `approval` for the event "shop/approved" until tomorrow.' },
  },
  { status: "RUNNING", endedMs: null, functionId: "shop-invoice", eventName: "shop/paid" },
  { status: "PENDING", startedMs: null, endedMs: null, functionId: "mail-digest", eventName: "mail/due" },
  { status: "CANCELLED", error: { name: "Cancelled", message: "The run was cancelled over the API." } },
  { functionId: LONG, eventName: "shop/descriptive" },
  { functionId: "shop-مرحبا-بالعالم", eventName: "متجر/طلب" },
  { functionId: "shop-🚚-delivery-📦", eventName: "shop/🎉" },
];

const variants = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => runOf(n, VARIANTS[(n * 5) % VARIANTS.length]));

function stepOf(n: number, name: string, more: object = {}): object {
  const startedMs = NOW_MS - 600_000 + n * 400;
  return {
    ...{ id: `step${n}`, name, op: "StepRun", status: "completed", attempt: 0, failedAttempts: [] },
    ...{ startedMs, durationMs: 320, openedMs: null, dueMs: null, endedMs: startedMs + 320, output: { n } },
    ...more,
  };
}

function detailOf(more: object, steps: readonly object[], stalls: readonly object[] = []): object {
  const createdMs = NOW_MS - 600_100;
  const run = runOf(0, { createdMs, startedMs: createdMs + 60, endedMs: createdMs + 2_400, ...more });
  return {
    ...run,
    event: { id: run.eventId, name: run.eventName, data: { order: 7, total: 42.5 }, ts: createdMs },
    ...{ parent: null, rerunOf: null, forkedFrom: null, descendants: [], continuedFrom: null, continuedAs: null },
    ...{ deadlineMs: null, compensating: false, resumable: run.status === "FAILED", compensationsLeft: false },
    ...{ leasesLost: 0, maxAttempts: 4, steps: steps.map((step) => ({ ...step, forkable: true })), stalls, log: [] },
  };
}

const stall = {
  ...{ atMs: NOW_MS - 598_700, stalledMs: 640, ended: true, instanceId: "worker-1", stepId: "render invoice" },
  ...{ location: "/srv/shop/invoice.ts:25:3", codeName: "renderPages" },
};
const failedAttempt = {
  attempt: 0,
  atMs: NOW_MS - 599_300,
  error: { name: "Error", message: "The mail server is busy." },
};

const graph = JSON.parse(readFileSync(new URL("../fixtures/onboarding-graph.json", import.meta.url), "utf8"));

const NODE_STATES = ["done", "done", "skipped", "done", "failed", "running", "waiting", "waiting"];

const graphNodes = graph.nodes.flatMap(
  ({ id, type, title }: { id: string; type: string; title?: string }, n: number) => {
    const times = { startedMs: NOW_MS - 9_000, endedMs: NODE_STATES[n] === "running" ? null : NOW_MS - 8_200 + n * 10 };
    const node = {
      id,
      key: id,
      type,
      title,
      status: NODE_STATES[n],
      path: [],
      iteration: [],
      attempts: 1,
      dueMs: null,
    };
    if (id !== "seat") return [{ ...node, ...times }];
    return [0, 1, 2].map((index) => ({ ...node, ...times, key: `seat[${index}]`, iteration: [index] }));
  },
);

const holder = (n: number, functionId = "shop-order") => ({ runId: idOf(n), functionId, sinceMs: NOW_MS - n * 17_000 });
const use = (key: string | null, taken: number, waits: number, nextStartMs: number | null = null) => ({
  ...{ key, taken, waiting: waits, nextStartMs },
  holders: Array.from({ length: taken }, (_, n) => holder(n + 1)),
  waiters: Array.from({ length: waits }, (_, n) => holder(n + 20)),
});
const LIMITS = [
  {
    ...{
      functionId: "shop-order",
      kind: "concurrency",
      limit: 4,
      scope: "fn",
      key: "event.data.customer",
      isCut: false,
    },
    uses: [
      use("acme", 4, 7),
      use("a customer whose name is longer than anybody would have thought it could be", 2, 0),
      use("مرحبا", 1, 0),
      use("😀", 1, 0),
    ],
  },
  {
    ...{ functionId: "mail-digest", kind: "throttle", limit: 10, burst: 0, periodMs: 60_000, key: null, isCut: false },
    uses: [use(null, 10, 3, NOW_MS + 4_000)],
  },
  { functionId: LONG, kind: "concurrency", limit: 1, scope: "env", key: null, isCut: false, uses: [] },
];

const NO_ENDS = { overruns: 0, crashes: 0, recycled: 0, abandoned: 0 };
const isolation = { ...{ threads: 3, busy: 2, queued: 0, oldestMs: 340 }, ...NO_ENDS };
const stateOf = (more: object = {}) => ({
  ...{ ageMs: 800, phase: "ACTIVE", mainLagMs: 0, roundTripMs: 2, unansweredHeartbeats: 0, inFlight: 37 },
  requests: [
    { requestId: "a", runId: idOf(900), functionSlug: "shop-order", replied: false, ageMs: 4_200, leaseAgeMs: 900 },
    { requestId: "b", runId: idOf(901), functionSlug: "shop-order", replied: true, ageMs: 90, leaseAgeMs: 90 },
  ],
  ...{ outboxCount: 1, outboxBytes: 2_400, outboxFull: false, reconnectAttempts: 0, crashes: 0 },
  ...{ lastErrorCode: "", lastError: "", stalls: 2, stallsUnseen: false, logsDropped: 0, isolation },
  process: { pid: 4_711, rssBytes: 182_000_000, cpuMs: 91_000, uptimeMs: 7_200_000, cpuShare: 0.34 },
  transitions: [
    { atMs: NOW_MS - 7_200_000, event: "FRAME", from: "open", to: "open" },
    { atMs: NOW_MS - 7_199_000, event: "TIMER", from: "idle", to: "open" },
  ],
  ...more,
});
const worker = (n: number, more: object = {}) => ({
  ...{ connectionId: idOf(n), gatewayId: idOf(500), instanceId: `worker-${n}`, apps: ["shop@2026-05-11"] },
  ...{ status: "READY", drained: false, connectedMs: NOW_MS - 7_200_000 + n, queues: ["*"], capacity: 100 },
  ...{ inFlight: 37, partitions: [{ functions: ["shop-invoice"], capacity: 4, inFlight: 4 }] },
  condition: { heartbeatMs: 5_000, silentMs: 1_200, roundTripMs: 2.4, extensions: [], stalls: [], state: stateOf() },
  ...more,
});
const blocked = {
  ...{ heartbeatMs: 5_000, silentMs: 300, roundTripMs: 0.4, extensions: [] },
  stalls: [{ ...stall, atMs: NOW_MS - 40_000, runId: idOf(900), stack: "at renderPages (/srv/shop/invoice.ts:25:3)" }],
  state: stateOf({
    ...{ ageMs: 400, mainLagMs: 12_400, outboxCount: 0, inFlight: 100, lastErrorCode: "LINK_LOST" },
    isolation: {
      threads: 7,
      busy: 7,
      queued: 12,
      oldestMs: 61_000,
      overruns: 3,
      crashes: 1,
      recycled: 40,
      abandoned: 1,
    },
    lastError: "The connection was lost.",
  }),
};
const WORKERS = [
  worker(1),
  worker(2, { condition: blocked, apps: ["shop@2026-05-11", "mail@7"], inFlight: 100 }),
  worker(3, { status: "DRAINING", drained: true, inFlight: null, partitions: [], condition: null }),
  worker(4, {
    ...{ instanceId: "worker-مرحبا-😀-".repeat(5), queues: ["slow", "night"], inFlight: 0, partitions: [] },
    // Without the extension it says nothing of itself.
    condition: { heartbeatMs: 10_000, silentMs: 1_200, roundTripMs: 2.4, extensions: [], stalls: [], state: null },
  }),
];

const METRICS = {
  dispatcher: {},
  store: {},
  database: { ok: true, awayMs: 0, error: null },
  queue: { due: 0, leased: 0, later: 0, oldestDueMs: null },
  tables: [],
};
const NOTHING = {
  "/v1/runs?": { runs: [], nextCursor: null },
  "/v1/functions": { functions: [] },
  "/v1/workers": { workers: [] },
  "/v1/metrics": METRICS,
};

const RUN = idOf(900);
/** As the gateway counts it: quiet at first, then ever more, and an outage. */
const slots = Array.from({ length: 30 }, (_, n) => {
  const ended = n < 6 ? 0 : (n - 5) * 3 + ((n * 7) % 11);
  const isOutage = n === 21 || n === 22;
  return { atMs: NOW_MS - (29 - n) * 120_000, ended, failed: isOutage ? Math.floor(ended / 2) : 0, p99Ms: p99Of(n) };
});

function p99Of(n: number): number | null {
  if (n < 6) return null;
  return n === 21 || n === 22 ? 9_400 : 800 + ((n * 37) % 11) * 60;
}

const shopOrder = {
  ...{ id: "shop-order", uuid: "u", appId: "shop", active: true, appVersion: "2026-05-11", versions: ["2026-05-11"] },
  ...{ queue: "default", triggers: [{ type: "event", pattern: "shop/order" }], maxAttempts: 4, hints: [] },
  ...{ deadlineMs: null, finishTimeoutMs: null, startTimeoutMs: null, concurrency: [], throttle: null, rateLimits: [] },
  ...{ debounce: null, batchEvents: null, singleton: null, priority: null, cancelOn: [], paused: false, pause: null },
};

const list = (count: number, nextCursor: string | null = null) => ({
  ...NOTHING,
  "/v1/runs?": { runs: variants(count), nextCursor },
});
const oneRun = (name: string, detail: object, more: object = {}): DashboardState => ({
  ...{ name, path: `/ui/runs/${RUN}`, ready: ".timeline svg" },
  answers: { ...NOTHING, [`/v1/runs/${RUN}`]: detail, ...more },
});

export const DASHBOARD_STATES: readonly DashboardState[] = [
  { name: "overview-empty", path: "/", ready: ".notice.ok", answers: NOTHING },
  { name: "runs-empty", path: "/ui/runs", ready: ".empty", answers: NOTHING },
  { name: "runs-little", path: "/ui/runs", ready: ".run-row", answers: list(3) },
  { name: "runs-much", path: "/ui/runs", ready: ".run-row", answers: list(60, idOf(1)) },
  oneRun(
    "run-errors",
    detailOf(
      { status: "FAILED", error: declined, output: null },
      [
        stepOf(0, "ask the bank"),
        stepOf(1, "mail the customer", { failedAttempts: [failedAttempt], attempt: 1 }),
        stepOf(3, "render invoice"),
        stepOf(4, "charge card", { status: "failed", output: undefined, error: declined }),
      ],
      [stall],
    ),
  ),
  oneRun(
    "run-long-names",
    detailOf({ functionId: LONG, eventName: `shop/${"descriptive-".repeat(12)}end` }, [
      stepOf(0, `${LONG} ${LONG}`),
      stepOf(1, "x".repeat(300)),
      stepOf(2, "short"),
    ]),
  ),
  oneRun(
    "run-right-to-left",
    detailOf(
      { functionId: "shop-مرحبا-بالعالم", eventName: "متجر/طلب", output: { مفتاح: "قيمة", text: "שלום עולם" } },
      [stepOf(0, "احسب المجموع"), stepOf(1, "שלח קבלה ללקוח"), stepOf(2, "then in English")],
    ),
  ),
  oneRun(
    "run-emoji",
    detailOf({ functionId: "shop-🚚-delivery", eventName: "shop/🎉", output: { family: "👩‍👩‍👧‍👦", flag: "🇪🇺" } }, [
      stepOf(0, "🚚 ship the parcel 📦"),
      stepOf(1, "👍🏽"),
      stepOf(2, "🧾 print"),
    ]),
  ),
  {
    name: "run-of-graph",
    path: `/ui/runs/${RUN}`,
    ready: ".node",
    answers: {
      ...NOTHING,
      [`/v1/runs/${RUN}`]: {
        ...detailOf({ status: "WAITING", endedMs: null, eventName: "holdfast/graph.requested" }, [stepOf(0, "size")]),
        graph: { id: "onboarding", tenant: "", version: 3, test: false },
        event: { data: { graph, input: { customer: "Ada", plan: "team", seats: 20 } } },
      },
      [`/v1/runs/${RUN}/graph`]: {
        ...{
          runId: RUN,
          graphId: "onboarding",
          version: 3,
          test: false,
          status: "WAITING",
          nodes: graphNodes,
          isCut: false,
        },
      },
    },
  },
  {
    ...{ name: "function", path: "/ui/functions/shop-order", ready: ".rate svg" },
    answers: {
      ...list(3),
      "/v1/functions/shop-order": shopOrder,
      "/v1/functions/shop-order/history": { gatewayId: idOf(7), slots },
    },
  },
  {
    ...{ name: "connections", path: "/ui/connections", ready: ".worker" },
    answers: { ...NOTHING, "/v1/workers": { workers: WORKERS } },
  },
  { name: "limits", path: "/ui/limits", ready: ".limit", answers: { ...NOTHING, "/v1/limits": { limits: LIMITS } } },
];
