/** How much of results and errors a page of runs has. */
import type { RunHead } from "../port/work.ts";

/** A page ends with the run whose result or error brings it to so many bytes, be it its first. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Characters are counted, each for a byte: most of JSON is ASCII. */
export function upToPageBytes(heads: readonly RunHead[]): readonly RunHead[] {
  let bytes = 0;
  const last = heads.findIndex(({ outputJson, errorJson }) => {
    bytes += (outputJson?.length ?? 0) + (errorJson?.length ?? 0);
    return bytes >= MAX_PAGE_BYTES;
  });
  return last === -1 ? heads : heads.slice(0, last + 1);
}
