/** What the runs of a chain are the only one of: what its first run was. */
import { type InvokedRun, seenText, singletonKeyOf } from "@holdfast/engine";
import type { KnownFunction } from "../registry/functions.ts";
import type { Starter } from "./starter.ts";

/** The second run of a chain has it from the first one's event. Later ones have it from that. */
export function withSingletonKey(
  invokes: InvokedRun,
  { id, settings }: KnownFunction,
  starter: Pick<Starter, "reader">,
): InvokedRun {
  const { continues } = invokes;
  if (!continues || continues.chain.singletonKey !== undefined || !settings.singleton) return invokes;
  const singletonKey = singletonKeyOf(
    id,
    settings,
    starter.reader(() => seenText(continues.eventText)),
  );
  const chain = singletonKey === undefined ? continues.chain : { ...continues.chain, singletonKey };
  return { ...invokes, continues: { ...continues, chain } };
}
