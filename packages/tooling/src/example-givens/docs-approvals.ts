/** What the blocks of docs/approvals.md use and do not show. */
import { eventType, Holdfast, type StepTools, staticSchema } from "holdfast";
import { HoldfastClient } from "holdfast/client";

export declare const step: StepTools;
export const tripId = "42";
export const decided = eventType("trip/decided", { schema: staticSchema<{ tripId: string; isApproved: boolean }>() });
export const client = new HoldfastClient({ id: "travel-web" });

export async function remind(trip: string): Promise<void> {
  console.log(`trip ${trip} is still to be decided`);
}

const app = new Holdfast({ id: "travel" });
const trip = app.createFunction({ id: "trip", triggers: { event: "trip/wanted" } }, ({ step }) =>
  step.waitForSignal("the decision", { signal: `trip ${tripId}`, timeout: "3d" }),
);

/** A run of the page's function waits. */
export async function prepare(): Promise<void> {
  await app.connect({ functions: [trip] });
  const { id } = await app.invoke(trip, { data: {} });
  while ((await app.getRun(id))?.status !== "WAITING") await new Promise((resolve) => setTimeout(resolve, 50));
}
