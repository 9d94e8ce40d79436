/**
 * What an address of a database says of TLS, as libpq reads it: the driver knows the modes that check nothing or
 * everything, and takes the rest for settings of the server.
 */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { HoldfastError, messageOf } from "@holdfast/core";

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type Mode = (typeof MODES)[number];
const CHECKED: readonly Mode[] = ["verify-ca", "verify-full"];
const FILES = { ca: "sslrootcert", cert: "sslcert", key: "sslkey" } as const;
const OWN = ["sslmode", "sslpassword", ...Object.values(FILES)];
/** In place of a file: the CAs that Node trusts. */
const SYSTEM = "system";

/** The address that the driver gets, and its TLS options; undefined: the driver takes them from the address. */
export interface DriverAddress {
  readonly address: string;
  readonly ssl?: ConnectionOptions;
}

const known = new Map<string, DriverAddress>();

/**
 * Files are read once in a process: a file that goes away later ends no gateway.
 * @throws HoldfastError `OPTION_INVALID` for a mode that there is not, or a file that cannot be read
 */
export function driverAddress(url: string): DriverAddress {
  let found = known.get(url);
  if (found === undefined) {
    found = read(url);
    known.set(url, found);
  }
  return found;
}

function read(url: string): DriverAddress {
  // By hand: an address with several hosts is not one that `URL` takes.
  const at = url.indexOf("?");
  if (at < 0) return { address: url };
  const query = new URLSearchParams(url.slice(at + 1));
  const mode = modeOf(query);
  const given = (name: string): string | undefined => query.get(name) || undefined;
  const names = Object.values(FILES).filter((name) => given(name) !== undefined);
  if (names.length === 0 && mode !== "verify-ca") return { address: url };
  const isOpen = mode === undefined || mode === "disable" || mode === "allow" || mode === "prefer";
  if (isOpen) {
    throw invalid(
      `${names.join(", ")} in the database URL: without effect ${mode === undefined ? "without sslmode" : `with sslmode=${mode}`}. ` +
        "Add sslmode=verify-full, or sslmode=verify-ca if the name of the server is not in its certificate.",
    );
  }
  const ca = given(FILES.ca);
  const ssl: ConnectionOptions = {
    ...contents("ca", ca === SYSTEM ? undefined : ca),
    ...contents("cert", given(FILES.cert)),
    ...contents("key", given(FILES.key)),
    ...(given("sslpassword") === undefined ? {} : { passphrase: given("sslpassword") }),
    // With a CA, `require` checks as `verify-ca` does.
    ...(CHECKED.includes(mode) || ca !== undefined ? {} : { rejectUnauthorized: false }),
    ...(mode === "verify-full" || ca === SYSTEM ? {} : { checkServerIdentity: () => undefined }),
  };
  for (const name of OWN) query.delete(name);
  const rest = query.toString();
  return { address: url.slice(0, at) + (rest === "" ? "" : `?${rest}`), ssl };
}

function modeOf(query: URLSearchParams): Mode | undefined {
  const given = query.get("sslmode");
  if (given === null) return undefined;
  const mode = MODES.find((one) => one === given);
  if (mode !== undefined) return mode;
  throw invalid(`sslmode=${given} in the database URL: must be one of ${MODES.join(", ")}.`);
}

function contents(option: keyof typeof FILES, path: string | undefined): ConnectionOptions {
  if (path === undefined) return {};
  try {
    return { [option]: readFileSync(path) };
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : messageOf(cause);
    throw invalid(`${FILES[option]} in the database URL: ${path} cannot be read: ${why}.`, cause);
  }
}

const invalid = (message: string, cause?: unknown): HoldfastError =>
  new HoldfastError("OPTION_INVALID", message, { cause });
