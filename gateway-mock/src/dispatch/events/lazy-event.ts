/** An event that the gateway makes, whose text is put together when it is written. */
import type { InternalEvent } from "@holdfast/engine";
import { type NewEvent, qualify } from "@holdfast/store";

/** Its text is put together when it is written, which it mostly is not. */
export class LazyEvent implements NewEvent {
  readonly id: string;
  readonly name: string;
  readonly tsMs: number;
  readonly #payload: () => string;

  constructor({ id, name, environment, tsMs, payload }: InternalEvent) {
    this.id = id;
    this.name = qualify(environment, name);
    this.tsMs = tsMs;
    this.#payload = payload;
  }

  get payloadJson(): string {
    return this.#payload();
  }
}
