/** Reads on which version of its app a run is to go on. */
import { HoldfastError } from "@holdfast/core";
import type { WantedVersion } from "../dispatch/index.ts";

export function versionOf({ appVersion }: Readonly<Record<string, unknown>>): WantedVersion {
  if (appVersion === undefined || appVersion === "newest") return { type: "newest" };
  if (appVersion === "same") return { type: "same" };
  if (typeof appVersion === "string") return { type: "named", version: appVersion };
  throw new HoldfastError("BODY_INVALID", '`appVersion` must be "newest", "same" or a version of the app.');
}
