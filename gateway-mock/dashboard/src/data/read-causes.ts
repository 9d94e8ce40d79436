/** Reads what open runs wait for: the newest of all, and of functions without a worker those that these do not reach. */
import { get } from "./api.ts";
import { type Causes, causesOf, hasNoWorker, type ServedFunction, strandedOf } from "./causes.ts";
import type { RunPage } from "./types.ts";

/** Why a run waits is worth a few milliseconds of the gateway. */
const NEWEST = 100;
const OF_ONE = 20;
const MOST_ASKED = 8;

export async function readCauses(functions: readonly ServedFunction[], end: AbortSignal): Promise<Causes> {
  const options = { signal: end };
  const page = await get<RunPage>(`/v1/runs?waiting=only&limit=${NEWEST}`, options);
  const isMore = page.nextCursor !== null;
  const seen = new Set(page.runs.map(({ functionId }) => functionId));
  const unseen = isMore ? functions.filter((fn) => hasNoWorker(fn) && !seen.has(fn.id)).slice(0, MOST_ASKED) : [];
  const runs = [...page.runs];
  for (const { id } of unseen) {
    const own = await get<RunPage>(`/v1/runs?waiting=only&limit=${OF_ONE}&function=${encodeURIComponent(id)}`, options);
    runs.push(...own.runs);
  }
  const causes = causesOf(runs);
  return { causes, stranded: strandedOf(causes, functions), isMore };
}
