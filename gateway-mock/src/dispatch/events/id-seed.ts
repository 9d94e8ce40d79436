/** Ids of events that follow from the request that sends them: sent again, they are the same. */
import { sha256 } from "@holdfast/engine";
import { DEFAULT_ENVIRONMENT } from "@holdfast/store";

/** Makes the ids of one request's events predictable, so that a repeated request can be recognised. */
export interface IdSeed {
  readonly atMs: number;
  readonly entropy: Uint8Array;
}

/** A request that is repeated in another environment makes other events there. */
export function entropyIn(environment: string, { entropy }: IdSeed): Uint8Array {
  if (environment === DEFAULT_ENVIRONMENT) return entropy;
  return sha256(`${environment}\n${Buffer.from(entropy).toString("hex")}`).subarray(0, 10);
}
