/** What a command says of the error that ended it. */
import { errorPage, HoldfastError, messageOf } from "@holdfast/core";
import type { Environment } from "../config/settings.ts";
import { visible } from "./table.ts";

export interface Reader {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly isTerminal: boolean;
}

export function failureText(error: unknown, { argv, env, isTerminal }: Reader): string {
  const code = HoldfastError.is(error) ? error.code : "INTERNAL";
  const message = HoldfastError.is(error) ? error.message : `Unexpected: ${messageOf(error)}`;
  const asJson = argv.includes("--json") || /^(1|on|true)$/i.test(env.HOLDFAST_GATEWAY_JSON ?? "");
  if (asJson) return `${JSON.stringify({ error: message, code })}\n`;
  const text = `holdfast-gateway: ${visible(message)} (${code})\n`;
  // Wrong usage says itself what to do.
  if (!isTerminal || code === "GATEWAY_USAGE") return text;
  return `${text}More: ${errorPage(code) ?? `holdfast-gateway explain ${code}`}\n`;
}
