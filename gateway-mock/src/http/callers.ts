/**
 * Decides whether a browser page or a rebound host name may call, before any key is looked at (docs/decisions/0041).
 * Pure.
 */
import { HoldfastError } from "@holdfast/core";

/** From where the gateway may be called; see `callerProblem`. */
export interface CallerRules {
  /**
   * Whether `Host` is checked. Not where other machines can call without more: nothing is open to them without keys.
   */
  readonly checksHost: boolean;
  /** Names, beside `localhost` and addresses, by which the gateway is known. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Ports of the gateway itself: a page of one of them may call the others. */
  readonly ports: readonly number[];
}

export interface CallerHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: what the browser says of the page that calls. */
  readonly fetchSite: string | undefined;
}

/**
 * Browsers call whatever a page tells them to, with the user's place in the network. So a request is refused
 *
 * - whose `Host` is a name that the gateway does not have: a page's own name may be made to lead here (DNS rebinding).
 *   An address cannot be, and passes;
 * - whose `Origin` is neither that of the gateway (the `Host` it was called by) nor an allowed one;
 * - that has no `Origin` but comes from a page of another origin, as images and forms of old browsers do.
 *
 * Programs that are no browsers send neither header.
 */
export function callerProblem(headers: CallerHeaders, rules: CallerRules): HoldfastError | undefined {
  const called = readHost(headers.host ?? "");
  if (called === undefined) return hostRefused("The Host header is missing or malformed.");
  if (rules.checksHost && !isKnownHost(called.hostname, rules)) {
    return hostRefused(
      `This gateway does not answer to the name "${called.hostname}". If it should, start it with --allowed-host ${called.hostname}.`,
    );
  }
  if (headers.origin !== undefined) {
    if (isOwnOrigin(headers.origin, called, rules) || isAllowedOrigin(headers.origin, rules)) return undefined;
    return originRefused(`Pages of ${JSON.stringify(headers.origin.slice(0, 200))} may not call this gateway.`);
  }
  if (headers.fetchSite === undefined || headers.fetchSite === "same-origin" || headers.fetchSite === "none") {
    return undefined;
  }
  return originRefused("Pages of other origins may not call this gateway.");
}

export function isAllowedOrigin(origin: string, { origins }: Pick<CallerRules, "origins">): boolean {
  return origins.includes(origin.toLowerCase());
}

/** Whether the browser says that a page of the gateway itself calls, whatever other origins may. */
export function isOwnPage({ host, origin }: CallerHeaders, rules: CallerRules): boolean {
  const called = readHost(host ?? "");
  return called !== undefined && origin !== undefined && isOwnOrigin(origin, called, rules);
}

interface CalledHost {
  readonly hostname: string;
  /** Empty: the scheme's own. */
  readonly port: string;
}

/** `name`, `name:port`, `1.2.3.4:port`, `[::1]:port`, in normal form. */
export function readHost(text: string): CalledHost | undefined {
  if (!/^[^\s/?#@\\]+$/.test(text)) return undefined;
  try {
    const { hostname, port } = new URL(`http://${text}`);
    return { hostname: hostname.replace(/\.$/, ""), port };
  } catch {
    return undefined;
  }
}

function isKnownHost(hostname: string, { hosts }: CallerRules): boolean {
  if (hostname === "localhost" || hostname.endsWith(".localhost")) return true;
  return isAddress(hostname) || hosts.includes(hostname);
}

/** The URL parser has made every way to write an IPv4 address into four numbers. */
function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Behind a proxy that speaks TLS the page's scheme is another than ours: host and port decide. */
function isOwnOrigin(origin: string, called: CalledHost, { ports }: CallerRules): boolean {
  const [, scheme = "", host = ""] = /^(https?):\/\/([^/]+)$/i.exec(origin) ?? [];
  const page = readHost(host);
  if (page === undefined || page.hostname !== called.hostname) return false;
  const standard = scheme.toLowerCase() === "https" ? "443" : "80";
  const pagePort = page.port === "" ? standard : page.port;
  return pagePort === (called.port === "" ? standard : called.port) || ports.includes(Number(pagePort));
}

function hostRefused(message: string): HoldfastError {
  return new HoldfastError("HOST_REFUSED", message);
}

function originRefused(message: string): HoldfastError {
  return new HoldfastError(
    "ORIGIN_REFUSED",
    `${message} If they should, start it with --allowed-origin and their origin.`,
  );
}

/** @throws HoldfastError `OPTION_INVALID` */
export function readAllowedHosts(hosts: unknown): string[] {
  return readList(hosts, "allowedHosts").map((text) => {
    const host = readHost(text);
    if (host !== undefined && host.port === "" && !/:\d*$/.test(text)) return host.hostname;
    throw invalid(
      `allowedHosts must be names such as "gateway.example.com", without a port, not ${JSON.stringify(text)}.`,
    );
  });
}

/** @throws HoldfastError `OPTION_INVALID` */
export function readAllowedOrigins(origins: unknown): string[] {
  return readList(origins, "allowedOrigins").map((text) => {
    const origin = text.replace(/\/$/, "").toLowerCase();
    // A scheme of a browser's own, such as that of an extension, has no origin that the URL parser would give.
    if (!/^https?:/.test(origin) && /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*]+$/.test(origin)) return origin;
    if (URL.canParse(origin) && /^https?:\/\/[^\s/?#*@]+$/.test(origin)) return new URL(origin).origin;
    throw invalid(`allowedOrigins must be origins such as "https://app.example.com", not ${JSON.stringify(text)}.`);
  });
}

function readList(value: unknown, name: string): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((one): one is string => typeof one === "string")) return value;
  throw invalid(`${name} must be an array of strings.`);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("OPTION_INVALID", message);
}
