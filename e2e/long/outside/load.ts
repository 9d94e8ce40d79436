import { setTimeout as sleep } from "node:timers/promises";
import { APPS, type Field } from "./field.ts";

const KINDS = ["sequence", "parallel", "shaky", "naps", "waits", "invokes"] as const;
/** Runs that an event makes, its child's included. */
export const RUNS_PER_EVENTS = (events: number): number =>
  Array.from({ length: events }, (_, n) => (kindOf(n) === "invokes" ? 2 : 1)).reduce((sum, runs) => sum + runs, 0);

const kindOf = (n: number): string => KINDS[n % KINDS.length] as string;
const appOf = (n: number): string => APPS[Math.floor(n / KINDS.length) % APPS.length] as string;

const TRY_MS = 5_000;

/** Those who send events to the gateways, and send them again until one has said that it has them. */
export class Load {
  /** Ids of the events that were acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #field: Field;
  readonly #over = new AbortController();
  #turn = 0;

  constructor(field: Field) {
    this.#field = field;
  }

  /** Sends so many at a pace, whatever happens to earlier ones; resolves when each was acknowledged. */
  async send(events: number, perSecond: number): Promise<void> {
    const beganMs = performance.now();
    const sent: Promise<void>[] = [];
    for (let n = 0; n < events; n++) {
      await sleep(Math.max(0, beganMs + (n * 1_000) / perSecond - performance.now()));
      const event = { id: `outside-${n}`, name: `outside/${appOf(n)}.${kindOf(n)}`, data: { n } };
      sent.push(this.#deliver(event).then((id) => void this.acknowledged.push(id)));
    }
    await Promise.all(sent);
  }

  /** Sends what runs wait for to those that wait, again and again until `stop`. */
  async answerWaits(): Promise<void> {
    const { sql } = this.#field.cluster;
    while (!this.#over.signal.aborted) {
      const waiting = await sql`
        SELECT (payload::jsonb -> 'data' ->> 'n')::int AS n FROM holdfast.waits AS wait
        JOIN holdfast.runs AS run ON run.id = wait.run_id JOIN holdfast.whole_events AS event ON event.id = run.event_id
        WHERE wait.name = 'outside/go'`.catch(() => []);
      await Promise.all(waiting.map(({ n }) => this.#try({ name: "outside/go", data: { n } }).catch(() => {})));
      await sleep(300);
    }
  }

  stop(): void {
    this.#over.abort();
  }

  async #deliver(event: object): Promise<string> {
    while (!this.#over.signal.aborted) {
      try {
        return await this.#try(event);
      } catch {
        await sleep(200);
      }
    }
    throw new Error("An event was never acknowledged.");
  }

  /** One try, at the gateways in turn. */
  async #try(event: object): Promise<string> {
    const { members } = this.#field.cluster;
    const member = members[this.#turn++ % members.length];
    const response = await fetch(new URL("/e/dev", member?.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(event),
      signal: AbortSignal.timeout(TRY_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    return (JSON.parse(text) as { ids: [string] }).ids[0];
  }
}
