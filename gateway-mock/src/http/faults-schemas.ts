/** What faults look like in requests and answers. */
import Type from "typebox";
import { FAULT_KINDS, FAULT_NAMES, STORE_OPERATIONS, WIRE_KINDS } from "../faults/rules/fault-kinds.ts";
import { DIRECTIONS, MOMENTS, REFUSAL_STATUSES } from "../faults/rules/fault-rule.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";

const oneOrMore = (names: readonly string[], description: string) =>
  Type.Union([Type.Enum([...names]), Type.Array(Type.Enum([...names]), { minItems: 1 })], { description });

const WhereSchema = Type.Object(
  {
    kind: Type.Optional(oneOrMore(WIRE_KINDS, "Kinds of frames.")),
    direction: Type.Optional(Type.Enum([...DIRECTIONS])),
    connection: Type.Optional(Type.String({ description: "Id of a connection, or instance id of a worker." })),
    function: Type.Optional(Type.String({ description: "As in `shop-order`." })),
    step: Type.Optional(Type.String({ description: "The step's id as its author wrote it; `id:1` for a repeat." })),
    run: Type.Optional(Type.String()),
    operation: Type.Optional(oneOrMore(STORE_OPERATIONS, "What is asked of the store.")),
  },
  { description: "What the fault is limited to; the kind of fault decides which of these apply." },
);

const kindsText = FAULT_NAMES.map((name) => `\`${name}\` ${FAULT_KINDS[name].does}`).join("; ");

const rule = {
  what: Type.Enum(FAULT_NAMES, { description: `${kindsText}.` }),
  where: Type.Optional(WhereSchema),
  probability: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 1 })),
  count: Type.Optional(
    orNull(Type.Integer({ minimum: 1, description: "How often it happens at most; null: no limit." })),
  ),
  after: Type.Optional(Type.Integer({ minimum: 0, default: 0, description: "How many matches are skipped first." })),
  fromMs: Type.Optional(
    Type.Number({ minimum: 0, default: 0, description: "How long from now before it can happen." }),
  ),
  forMs: Type.Optional(orNull(Type.Number({ description: "For how long from then; null: until it is removed." }))),
  everyMs: Type.Optional(orNull(Type.Number({ description: "Of what happens at once: again, so far apart." }))),
  seed: Type.Optional(
    Type.Integer({ minimum: 0, description: "The seed of everything that is random. Default: a random one." }),
  ),
  delayMs: Type.Optional(orNull(Type.Number({ minimum: 0 }))),
  jitterMs: Type.Optional(Type.Number({ minimum: 0 })),
  copies: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  code: Type.Optional(Type.Integer({ description: "The close code of the WebSocket. Default 1011." })),
  reason: Type.Optional(Type.String()),
  moment: Type.Optional(Type.Enum([...MOMENTS])),
  status: Type.Optional(Type.Enum([...REFUSAL_STATUSES])),
  skipMs: Type.Optional(Type.Number({ minimum: 0 })),
};

export const FaultRuleSchema = Type.Object(rule, { title: "FaultRule" });

export const FaultSchema = Type.Object(
  {
    id: Type.String(),
    addedMs: Ms,
    addedAt: At,
    fits: Type.Integer({ description: "How many frames or calls it has matched." }),
    happened: Type.Integer(),
    isOver: Type.Boolean({ description: "True: its count or its time is used up, so it no longer happens." }),
    ...rule,
  },
  { title: "Fault" },
);

export const FaultKindSchema = Type.Object(
  {
    what: Type.Enum(FAULT_NAMES),
    does: Type.String(),
    where: Type.Array(Type.String(), { description: "The fields of `where` that it can be limited by." }),
    settings: Type.Array(Type.String()),
    isAtOnce: Type.Boolean({ description: "True: it happens at once, not to passing frames or calls." }),
  },
  { title: "FaultKind" },
);

export const HistorySchema = Type.Object(
  {
    sequence: Type.Integer(),
    atMs: Ms,
    at: At,
    faultId: Type.String(),
    what: Type.Enum(FAULT_NAMES),
    text: Type.String({ description: "What happened, in words." }),
    connectionId: orNull(Type.String()),
    functionId: orNull(Type.String()),
    runId: orNull(Type.String()),
  },
  { title: "FaultThatHappened" },
);
