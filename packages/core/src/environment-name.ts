import { HoldfastError } from "./errors.ts";

/** Names the environment that is meant when none is named. */
export const DEFAULT_ENVIRONMENT_NAME = "default";

export const MAX_ENVIRONMENT_NAME_LENGTH = 128;

/** Visible ASCII but for ":", as names of branches are. */
export const ENVIRONMENT_NAME = /^[!-9;-~]{1,128}$/;

/**
 * Reads the name of an environment; `source` is what the message calls it.
 * @throws HoldfastError `ENVIRONMENT_INVALID`
 */
export function readEnvironmentName(name: unknown, source: string): string {
  if (typeof name === "string" && ENVIRONMENT_NAME.test(name)) return name;
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, MAX_ENVIRONMENT_NAME_LENGTH + 1)) : typeof name;
  throw new HoldfastError(
    "ENVIRONMENT_INVALID",
    `${source} names the environment ${shown}; a name has 1 to ${MAX_ENVIRONMENT_NAME_LENGTH} visible ASCII characters and no ":".`,
  );
}
