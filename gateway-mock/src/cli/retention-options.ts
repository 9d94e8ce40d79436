/** The options of `prune` and `hold`. */
import { PERIOD, SWITCH, TEXT } from "../config/option-kinds.ts";
import type { Rows } from "../config/settings.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";

export const PRUNE_OPTIONS = {
  dryRun: {
    kind: SWITCH,
    flag: { name: "dry-run", sets: true },
    variables: [],
    default: false,
    doc: "only say what would go",
  },
  completed: {
    kind: PERIOD,
    flag: { name: "completed", takes: "<duration>" },
    variables: [],
    doc: "how long runs are kept after they completed or were cancelled; default: as gateway and functions say",
  },
  failed: {
    kind: PERIOD,
    flag: { name: "failed", takes: "<duration>" },
    variables: [],
    doc: "the same for runs that failed",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Rows;

export const HOLD_OPTIONS = {
  reason: {
    kind: TEXT,
    flag: { name: "reason", takes: "<text>" },
    variables: [],
    default: "",
    doc: "why, for those who find it later",
  },
  release: {
    kind: SWITCH,
    flag: { name: "release", sets: true },
    variables: [],
    default: false,
    doc: "release them: they go when their time is over",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Rows;
