/** What the blocks of docs/approvals.md use and do not show. */
import { eventType, type StepTools, staticSchema } from "holdfast";
import type { HoldfastClient } from "holdfast/client";

export declare const client: HoldfastClient;
export declare const tripId: string;
export declare const step: StepTools;
export declare function remind(trip: string): Promise<void>;
export const decided = eventType("trip/decided", { schema: staticSchema<{ tripId: string; isApproved: boolean }>() });
