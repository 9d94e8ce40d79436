/** Routes that ask for faults, of gateways for development (docs/faults-on-request.md). */
import { HoldfastError } from "@holdfast/core";
import type { Hono } from "hono";
import Type from "typebox";
import { type Faults, faultsRefused } from "../faults/faults.ts";
import { type HistoryEntry, type ListedFault, MAX_HISTORY } from "../faults/rules/fault-book.ts";
import { FAULT_KINDS, FAULT_NAMES } from "../faults/rules/fault-kinds.ts";
import { limitBody } from "./bodies.ts";
import { notFound } from "./errors.ts";
import { FaultKindSchema, FaultRuleSchema, FaultSchema, HistorySchema } from "./faults-schemas.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

const MAX_BODY_BYTES = 16 * 1024;
const DEFAULT_HISTORY = 100;
const failures = { 403: "This gateway makes no faults: it is not a `dev` gateway, or other machines can reach it." };

const ADD = describe({
  operationId: "addFault",
  summary: "Adds a fault: something goes wrong from now on, or at once.",
  description:
    "Faults are looked at in the order in which they were added; the first that fits is the one that happens.",
  tag: "faults",
  body: { contentType: "application/json", schema: FaultRuleSchema },
  answers: { 201: FaultSchema },
  failures: { ...failures, 400: "The message says what is wrong with the fault, and what is accepted." },
});

const LIST = describe({
  operationId: "listFaults",
  summary: "Lists the faults, including those that are over, and the kinds that there are.",
  tag: "faults",
  answers: { 200: Type.Object({ faults: Type.Array(FaultSchema), kinds: Type.Array(FaultKindSchema) }) },
  failures,
});

const CLEAR = describe({
  operationId: "clearFaults",
  summary: "Removes all faults. The history of what they did is kept.",
  tag: "faults",
  answers: { 200: Type.Object({ cleared: Type.Integer() }) },
  failures,
});

const REMOVE = describe({
  operationId: "removeFault",
  summary: "Removes a fault.",
  tag: "faults",
  params: { id: "The fault's id." },
  answers: { 200: Type.Object({ removed: Type.String() }) },
  failures: { ...failures, 404: "There is no such fault." },
});

const HISTORY = describe({
  operationId: "listFaultHistory",
  summary: "Lists what faults have done, newest first.",
  tag: "faults",
  query: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_HISTORY, default: DEFAULT_HISTORY })),
  }),
  answers: { 200: Type.Object({ history: Type.Array(HistorySchema) }) },
  failures,
});

export function faultsApi(app: Hono, parts: HttpParts): void {
  app.post("/v1/faults", ADD, limitBody(MAX_BODY_BYTES), async (c) => {
    const faults = faultsOf(parts);
    const body: unknown = await c.req.json().catch(() => {
      throw new HoldfastError("BODY_INVALID", 'The body must be JSON, such as { "what": "drop" }.');
    });
    return c.json(faultView(await faults.add(body)), 201);
  });

  app.get("/v1/faults", LIST, (c) => answerJson(c, { faults: faultsOf(parts).list().map(faultView), kinds: KINDS }));

  app.delete("/v1/faults", CLEAR, (c) => answerJson(c, { cleared: faultsOf(parts).clear() }));

  app.get("/v1/faults/history", HISTORY, (c) => {
    const limit = readLimit(c.req.query("limit"));
    return answerJson(c, { history: faultsOf(parts).history(limit).map(historyView) });
  });

  app.delete("/v1/faults/:id", REMOVE, (c) => {
    const id = c.req.param("id");
    if (!faultsOf(parts).remove(id)) throw notFound(`There is no fault ${JSON.stringify(id.slice(0, 80))}.`);
    return answerJson(c, { removed: id });
  });
}

/** @throws HoldfastError `FAULTS_REFUSED` */
export function faultsOf({ faults }: Pick<HttpParts, "faults">): Faults {
  if (typeof faults === "string") throw faultsRefused(faults);
  return faults;
}

function readLimit(text: string | undefined): number {
  const limit = Number(text ?? DEFAULT_HISTORY);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_HISTORY) return limit;
  throw new HoldfastError("BODY_INVALID", `\`limit\` must be 1 to ${MAX_HISTORY}.`);
}

const KINDS = FAULT_NAMES.map((what) => {
  const { edge, ...row } = FAULT_KINDS[what];
  return { what, ...row, isAtOnce: edge === "now" };
});

function faultView({ id, rule, addedMs, ...counts }: ListedFault): object {
  return { id, addedMs, addedAt: isoTime(addedMs), ...counts, ...rule };
}

function historyView(entry: HistoryEntry): object {
  return { ...entry, at: isoTime(entry.atMs) };
}
