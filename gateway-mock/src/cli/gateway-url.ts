/** Where the gateway is that a command calls: as a flag, or as the variables say that apps read, too. */
import { describeValue, HoldfastError } from "@holdfast/core";
import type { OptionKind } from "../config/option-kinds.ts";

export const DEV_URL = "http://localhost:8288";

/** Where `holdfast-gateway` looks, first match wins; INNGEST_… names an address for apps that may not be one of ours. */
export const URL_VARIABLES = [
  "HOLDFAST_GATEWAY_URL",
  "HOLDFAST_API_BASE_URL",
  "HOLDFAST_BASE_URL",
  "HOLDFAST_DEV",
] as const;

/** An address; of HOLDFAST_DEV also a switch, which stands for the gateway of this machine. */
export const GATEWAY_URL: OptionKind<string> = {
  fromText: (text, source) =>
    source === "HOLDFAST_DEV" && /^(1|0|true|false)$/i.test(text.trim()) ? DEV_URL : text.trim(),
  check: (value, source) => {
    const problem = typeof value === "string" ? gatewayAddress(value) : `not ${describeValue(value)}`;
    if (typeof problem !== "string") return problem.url;
    const what = source === "HOLDFAST_DEV" ? "be 1, 0 or an address such as" : "look like";
    throw new HoldfastError("OPTION_INVALID", `${source} must ${what} ${DEV_URL}, ${problem}.`);
  },
};

/** It may hold a password, so messages do not repeat it. */
const USER_INFO = "without a user or a password: keys are given by HOLDFAST_SIGNING_KEY and HOLDFAST_EVENT_KEY";

/** The address with its path and without the last "/", or what is wrong with it. */
export function gatewayAddress(text: string): { readonly url: string } | string {
  if (text.includes("@")) return USER_INFO;
  const address = addressIn(text);
  if (address === undefined) return `not ${JSON.stringify(text)}`;
  const { href, search, hash } = address;
  return search === "" && hash === "" ? { url: href.replace(/\/+$/, "") } : `without "${search}${hash}"`;
}

/** A host without dots needs a scheme or a port. */
function addressIn(text: string): URL | undefined {
  const hasScheme = /^https?:\/\//i.test(text);
  const isHost = /[.:]/.test(text) || /^localhost(\/|$)/i.test(text);
  if (!hasScheme && (!isHost || text.includes("://") || /^https?:/i.test(text))) return undefined;
  const given = hasScheme ? text : `http://${text}`;
  return URL.canParse(given) ? new URL(given) : undefined;
}
