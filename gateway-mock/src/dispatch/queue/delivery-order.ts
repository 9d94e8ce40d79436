/**
 * The order in which events come to the waits for them: an event may end more waits than are read at once, and others of
 * its name come meanwhile. Pure.
 */
import { type Deferred, deferred } from "@holdfast/core";
import type { StoredWait } from "@holdfast/store";

type Position = Pick<StoredWait, "match" | "runId" | "key">;

/**
 * Orders the deliveries of one gateway.
 *
 * DELIVERY-1. Of events of one name, a wait is given the one first whose delivery began first.
 * DELIVERY-2. A delivery waits for an earlier one only where that may still come to the same waits: it has not been read as
 *     far, or is being given to the same wait.
 * DELIVERY-3. A delivery that has failed, or was given up, keeps no other one back.
 */
export class DeliveryOrder {
  readonly #latest = new Map<string, EventDelivery>();
  readonly #giving = new Map<string, Promise<unknown>>();

  /** The delivery of an event of this name, after those that have begun. It has to be ended. */
  begin(name: string): EventDelivery {
    const delivery = new EventDelivery(this.#latest.get(name) ?? null, (before) => {
      if (this.#latest.get(name) !== delivery) return;
      if (before) this.#latest.set(name, before);
      else this.#latest.delete(name);
    });
    this.#latest.set(name, delivery);
    return delivery;
  }

  /** After what is being given to the same wait. */
  give<T>({ runId, key }: Position, work: () => Promise<T>): Promise<T> {
    const place = `${runId} ${key}`;
    const before = this.#giving.get(place);
    const given = (before ? before.then(work, work) : work()).finally(() => {
      if (this.#giving.get(place) === given) this.#giving.delete(place);
    });
    this.#giving.set(place, given);
    return given;
  }

  /** Deliveries that keep others back. */
  get size(): number {
    return this.#latest.size + this.#giving.size;
  }
}

/** One event's way through the waits for it, page by page in the order of `findWaits`. */
export class EventDelivery {
  readonly #onEnd: (before: EventDelivery | null) => void;
  #before: EventDelivery | null;
  #next: EventDelivery | null = null;
  #at: Position | null = null;
  #hasEnded = false;
  #moved: Deferred<void> | null = null;

  constructor(before: EventDelivery | null, onEnd: (before: EventDelivery | null) => void) {
    this.#before = before;
    this.#onEnd = onEnd;
    if (before) before.#next = this;
  }

  /** When all earlier ones have come as far as this wait; null: they have. */
  reach(wait: Position): Promise<void> | null {
    for (let one = this.#before; one; one = one.#before) if (!one.#isPast(wait)) return this.#waitFor(one, wait);
    return null;
  }

  /** All waits up to this one are given the event, or have been. */
  moveTo(wait: Position): void {
    this.#at = wait;
    this.#move();
  }

  /** All waits are, or what is left is not given it here. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#before) this.#before.#next = this.#next;
    if (this.#next) this.#next.#before = this.#before;
    this.#onEnd(this.#before);
    this.#move();
  }

  async #waitFor(first: EventDelivery, wait: Position): Promise<void> {
    let one: EventDelivery | null = first;
    while (one) {
      if (one.#isPast(wait)) one = one.#before;
      else {
        one.#moved ??= deferred();
        await one.#moved.promise;
      }
    }
  }

  #isPast(wait: Position): boolean {
    return this.#hasEnded || (this.#at !== null && comparePositions(this.#at, wait) >= 0);
  }

  #move(): void {
    this.#moved?.resolve();
    this.#moved = null;
  }
}

/** As the database orders them, by bytes. */
function comparePositions(a: Position, b: Position): number {
  if (a.match !== b.match) return Buffer.compare(Buffer.from(a.match), Buffer.from(b.match));
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.key === b.key ? 0 : a.key < b.key ? -1 : 1;
}
