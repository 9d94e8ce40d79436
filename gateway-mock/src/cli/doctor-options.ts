/** The options of `doctor`, beside those of a gateway, which it reads as `start` and `dev` do. */
import { COMMAND_OPTIONS } from "../config/command-options.ts";
import { SWITCH } from "../config/option-kinds.ts";
import type { Rows } from "../config/settings.ts";
import { CLIENT_OPTIONS, JSON_OPTION } from "./client-options.ts";
import { GATEWAY_URL } from "./gateway-url.ts";

export const DOCTOR_OPTIONS = {
  url: {
    kind: GATEWAY_URL,
    flag: CLIENT_OPTIONS.url.flag,
    variables: CLIENT_OPTIONS.url.variables,
    doc: "a running gateway to send a run through; default: the one on the port, else one that is started for it",
  },
  env: CLIENT_OPTIONS.env,
  roundTrip: {
    kind: SWITCH,
    flag: { name: "no-round-trip", sets: false },
    variables: [],
    default: true,
    doc: "only look: nothing is sent, nothing is written",
  },
  config: COMMAND_OPTIONS.config,
  ...JSON_OPTION,
} as const satisfies Rows;
