/**
 * Runs that go on as others (`continueAs`), for callers that wait for a run or follow it: to them the chain is one run,
 * unless they ask for one link (`?links=one`).
 */
import { HoldfastError } from "@holdfast/core";
import { continuedAs } from "@holdfast/engine";
import type { RunDetail, Store } from "@holdfast/store";
import type { Context } from "hono";
import Type from "typebox";

export const LinksSchema = Type.Optional(
  Type.Enum(["all", "one"], {
    description:
      "For a run that continues as another one (`continueAs`): `all` (default) means until the last of them ends, `one` until this one ends.",
  }),
);

/** @throws HoldfastError `BODY_INVALID` */
export function followsLinks(c: Context): boolean {
  const links = c.req.query("links") ?? "all";
  if (links === "all" || links === "one") return links === "all";
  throw new HoldfastError("BODY_INVALID", '`links` must be "all" or "one".');
}

/** The run as which this one went on, if it did and that is still there. */
export async function nextLink(store: Pick<Store, "getRun">, { log }: RunDetail): Promise<RunDetail | null> {
  const next = continuedAs(log);
  return next === null ? null : store.getRun(next);
}

/** The last run of the chain, as it is now. */
export async function lastLink(store: Pick<Store, "getRun">, run: RunDetail): Promise<RunDetail> {
  for (let link = run; ; ) {
    const next = await nextLink(store, link);
    if (!next) return link;
    link = next;
  }
}
