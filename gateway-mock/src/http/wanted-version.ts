/** Reads on which version of its app a run is to go on. */
import { HoldfastError, isUlid } from "@holdfast/core";
import type { WantedVersion } from "../dispatch/index.ts";

/** The id that the caller gives the new run, so that a repeated call makes no second one. */
export function newRunIdOf({ newRunId }: Readonly<Record<string, unknown>>): { readonly newRunId?: string } {
  if (newRunId === undefined) return {};
  if (typeof newRunId === "string" && isUlid(newRunId)) return { newRunId };
  throw new HoldfastError("BODY_INVALID", "`newRunId` must be a ULID.");
}

export function versionOf({ appVersion }: Readonly<Record<string, unknown>>): WantedVersion {
  if (appVersion === undefined || appVersion === "newest") return { type: "newest" };
  if (appVersion === "same") return { type: "same" };
  if (typeof appVersion === "string" && !appVersion.includes("\0")) return { type: "named", version: appVersion };
  throw new HoldfastError("BODY_INVALID", '`appVersion` must be "newest", "same" or a version of the app.');
}
