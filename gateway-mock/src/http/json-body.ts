/** Reads a JSON body of a route that people call: what is wrong with it is the body's, not a frame's. */
import { HoldfastError } from "@holdfast/core";
import { readJson } from "@holdfast/engine";

/** @throws HoldfastError `BODY_INVALID` */
export function readJsonBody(bytes: Uint8Array): Promise<unknown> {
  return ofBody(readJson(bytes, { what: "The body", levels: 1 }));
}

/** @throws HoldfastError `BODY_INVALID` where `reading` throws `FRAME_INVALID` */
export async function ofBody<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    if (!HoldfastError.is(cause) || cause.code !== "FRAME_INVALID") throw cause;
    throw new HoldfastError("BODY_INVALID", cause.message, { cause });
  }
}
