/** The table of events, with the ids that make a repeated one count once. */
import type { EventScan, EventScanPage } from "../port/events.ts";
import type { EventDetail, EventFilter, EventKey, EventPage } from "../port/reads.ts";
import { environmentOf } from "../rules/environment.ts";
import { eventKeyOf } from "../rules/flow-rules.ts";
import type { Needs } from "../rules/plan.ts";
import type { EventWrite, WriteSet } from "../rules/write-set.ts";
import { byText, type EventRow, type TableClock } from "./rows.ts";

const mayContain = (payload: string, text: string | null): boolean =>
  text === null ||
  payload.includes(text) ||
  payload.includes("\\") ||
  (!text.startsWith('"') && EXPONENT.test(payload));

const EXPONENT = /[:,[][\s]*-?[0-9.]+[eE]/;

/** Events, and the ids that their senders gave them. */
export class Events {
  /** In the order in which they came. */
  readonly rows = new Map<string, EventRow>();
  readonly #keys = new Map<string, { readonly eventId: string; readonly untilMs: number }>();
  readonly #clock: TableClock;

  constructor(clock: TableClock) {
    this.#clock = clock;
  }

  insert({ event, runIds }: EventWrite): void {
    const { nowMs, order } = this.#clock;
    this.rows.set(event.id, { event, runIds, receivedMs: nowMs(), order: order() });
  }

  link({ eventIds, runId }: WriteSet["links"][number]): void {
    for (const id of new Set(eventIds)) {
      const stored = this.rows.get(id);
      if (stored) stored.runIds = [...stored.runIds, runId];
    }
  }

  /** The event that holds the key, if one does. */
  holderOf(name: string, key: string): string | undefined {
    const held = this.#keys.get(eventKeyOf(name, key));
    return held && this.#clock.nowMs() <= held.untilMs ? held.eventId : undefined;
  }

  ofKeys(keys: readonly EventKey[]): string[] {
    return [...new Set(keys.flatMap(({ name, key }) => this.holderOf(name, key) ?? []))].sort(byText);
  }

  holdKeys({ eventKeys }: Needs): void {
    for (const { name, key, eventId, keptMs } of eventKeys) {
      if (this.holderOf(name, key) !== undefined) continue;
      this.#keys.set(eventKeyOf(name, key), { eventId, untilMs: this.#clock.nowMs() + keptMs });
    }
  }

  freeKey({ name, key, eventId }: WriteSet["freeKeys"][number]): void {
    if (this.#keys.get(eventKeyOf(name, key))?.eventId === eventId) this.#keys.delete(eventKeyOf(name, key));
  }

  /** The sender's ids of an event that is gone. */
  forgetKeys(eventId: string): void {
    for (const [key, held] of this.#keys) if (held.eventId === eventId) this.#keys.delete(key);
  }

  tidy(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { untilMs }] of this.#keys) if (untilMs < nowMs) this.#keys.delete(key);
  }

  payloads(eventIds: readonly string[]): string[] {
    return eventIds.flatMap((id) => this.rows.get(id)?.event.payloadJson ?? []);
  }

  scan({ name, after, sinceMs, notOfRun, text, pageSize }: EventScan): EventScanPage {
    const page = [...this.rows.values()]
      .filter(({ event }) => event.id > after)
      .sort((a, b) => byText(a.event.id, b.event.id))
      .slice(0, pageSize);
    const isMeant = ({ event, runIds, receivedMs }: EventRow): boolean =>
      event.name === name && receivedMs >= sinceMs && !runIds.includes(notOfRun) && mayContain(event.payloadJson, text);
    const last = page.length < pageSize ? null : (page.at(-1)?.event.id ?? null);
    return { ids: page.filter(isMeant).map(({ event }) => event.id), last };
  }

  list({ name, environment, cursor, limit }: EventFilter): EventPage {
    const isMeant = ({ event }: EventRow): boolean =>
      (cursor === undefined || event.id < cursor) &&
      (environment === undefined || environmentOf(event.name) === environment) &&
      (name === undefined || (name.endsWith("*") ? event.name.startsWith(name.slice(0, -1)) : event.name === name));
    const found = [...this.rows.values()].filter(isMeant).sort((a, b) => byText(b.event.id, a.event.id));
    const page = found.slice(0, Math.min(Math.max(Math.trunc(limit), 1), 1000));
    const events = page.map(detailOf);
    return { events, nextCursor: found.length > page.length ? (events.at(-1)?.id ?? null) : null };
  }

  detail(eventId: string): EventDetail | null {
    const stored = this.rows.get(eventId);
    return stored ? detailOf(stored) : null;
  }
}

const detailOf = ({ event: { id, name, tsMs, payloadJson }, runIds, receivedMs }: EventRow): EventDetail => ({
  ...{ id, name, tsMs, receivedMs, payloadJson, runIds },
});
