/** The options that `dev` and `start` have beside those of the gateway: configuration file, log, output. */
import { type OptionRow, oneOf, SWITCH, TEXT } from "./option-kinds.ts";

export const LOG_LEVEL_NAMES = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevelName = (typeof LOG_LEVEL_NAMES)[number];
export const LOG_FORMATS = ["pretty", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export const COMMAND_OPTIONS = {
  config: {
    kind: TEXT,
    flag: { name: "config", takes: "<file>" },
    variables: ["HOLDFAST_GATEWAY_CONFIG"],
    doc: "JSON file with options by their names; flags and variables override it",
  },
  printConfig: {
    kind: SWITCH,
    flag: { name: "print-config", sets: true },
    variables: ["HOLDFAST_GATEWAY_PRINT_CONFIG"],
    default: false,
    doc: "print every option, its value and where the value comes from, and exit; secrets are masked",
  },
  logLevel: {
    kind: oneOf(LOG_LEVEL_NAMES),
    flag: { name: "log-level", takes: "<level>" },
    variables: ["HOLDFAST_GATEWAY_LOG_LEVEL"],
    default: "info",
    doc: "`debug`, `info`, `warn`, `error` or `silent`",
  },
  logFormat: {
    kind: oneOf(LOG_FORMATS),
    flag: { name: "log-format", takes: "<format>" },
    variables: ["HOLDFAST_GATEWAY_LOG_FORMAT"],
    doc: "`pretty` or `json`; default: `json`, with `dev` on a terminal `pretty`",
  },
  live: {
    kind: SWITCH,
    flag: { name: "no-live", sets: false },
    variables: ["HOLDFAST_GATEWAY_LIVE"],
    default: true,
    doc: "`dev` on a terminal shows below its log lines who is connected and what runs wait for; never with NO_COLOR or CI",
  },
  json: {
    kind: SWITCH,
    flag: { name: "json", sets: true },
    variables: ["HOLDFAST_GATEWAY_JSON"],
    default: false,
    doc: "print one JSON line when ready instead of the greeting",
  },
} as const satisfies Readonly<Record<string, OptionRow>>;
