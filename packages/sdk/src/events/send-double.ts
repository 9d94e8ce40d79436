/**
 * What takes the place of sending in a test of functions: there nothing leaves the process, by whichever client the code
 * under test sends.
 */
import type { OutgoingEvent, SchemaMap } from "./event-types.ts";
import type { SentEvents } from "./send-events.ts";
import type { OutgoingSignal, SentSignal } from "./send-signal.ts";

export interface SendDouble {
  events(given: readonly OutgoingEvent[], schemas: SchemaMap | undefined): Promise<SentEvents>;
  signal(given: OutgoingSignal): Promise<SentSignal>;
}

type FindDouble = () => SendDouble | undefined;

// All copies of this package share it: tests and clients come from different entries.
const KEY = Symbol.for("holdfast.test");

/** That of the test whose code calls this. */
export const sendDouble: FindDouble = () => (globalThis as { [KEY]?: FindDouble })[KEY]?.();

export function provideSendDouble(find: FindDouble): void {
  (globalThis as { [KEY]?: FindDouble })[KEY] = find;
}
