/** What becomes of leases when their gateway stops. */
import { messageOf } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";
import type { Dispatch } from "./dispatch.ts";

/**
 * What no worker was sent is given back. What workers have they go on with: they need the time to come to another gateway,
 * or to this one when it is started again, so their leases run from now. What a worker is known to have taken elsewhere is
 * that gateway's; of one whose socket was lost before nothing more is known, and its lease ends when it ends.
 */
export async function settleLeases(
  { store, settings, log }: DispatcherOptions,
  dispatches: readonly Dispatch[],
): Promise<void> {
  const { gatewayId } = settings;
  const here = dispatches.filter(({ elsewhere }) => !elsewhere);
  const unsent = here.filter(({ sentMs }) => sentMs === null);
  const releases = unsent.map(({ fence }) => ({ ...fence, lost: false, heldBy: gatewayId }));
  const extensions = here.flatMap(({ fence, worker, sentMs }) =>
    worker && sentMs !== null ? [{ ...fence, gatewayId, leaseMs: worker.session.leaseMs }] : [],
  );
  const change = (count: number, what: string, work: () => Promise<unknown>): Promise<unknown> =>
    count === 0
      ? Promise.resolve()
      : work().catch((error: unknown) => {
          log(levelFor(error, "warn"), `${count} lease(s) could not be ${what}: ${messageOf(error)}`);
        });
  await Promise.all([
    change(releases.length, "released", () => store.releaseLeases(releases)),
    change(extensions.length, "extended", () => store.extendLeases(extensions)),
  ]);
}
