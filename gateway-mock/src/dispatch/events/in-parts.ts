/** Works through a long list in parts, of which two are under way at a time. */
import { allEnded, nextTurn } from "@holdfast/core";

const CARRIED_OUT = Promise.resolve(true);

/**
 * What `carryOut` comes to for all items, in their order. A part begins when the one before it is under way and the one
 * before that has ended; when one fails no further one begins, and it rejects once the other has ended, too.
 */
export async function inParts<Item, Outcome>(
  items: readonly Item[],
  most: number,
  carryOut: (part: readonly Item[]) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  if (items.length <= most) return carryOut(items);
  const parts: Promise<readonly Outcome[]>[] = [];
  let before = CARRIED_OUT;
  for (let from = 0; from < items.length; from += most) {
    const part = carryOut(items.slice(from, from + most));
    parts.push(part);
    const isCarriedOut = part.then(
      () => true,
      () => false,
    );
    // What it has begun leaves before the next one takes its turn.
    await nextTurn();
    if (!(await before)) break;
    before = isCarriedOut;
  }
  return (await allEnded(parts)).flat();
}
