/** The events of a name, kept up to date at both ends: those that come, and older ones as far as they are wanted. */
import { firstIdAt } from "@holdfast/core";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, environment, gatewayNowMs, get, type Trouble, troubleOf } from "./api.ts";
import { renewal } from "./coalesce.ts";
import { type EventList, NO_EVENTS, withNewest, withOlder } from "./event-rows.ts";
import type { EventPage } from "./event-types.ts";
import { onFacts } from "./live.ts";

const HEAD = 60;
const NEXT = 300;
/** Rows that reading on adds before it rests: more than a window has. */
const ENOUGH = NEXT;
/** An event that starts nothing is in no stream. */
const EVERY_MS = 2_000;
/** So much later than its id says, an event may still come: clocks differ, and storing takes its time. */
const LATE_MS = 5_000;
/** Between pages that have too little, so that looking through millions leaves the gateway time for others. */
const MOST_PAUSE_MS = 500;

interface Verbs {
  /** Reads on until there are enough older ones, or no more. */
  readonly more: () => void;
  /** Reads the newest now. */
  readonly again: () => void;
}

export interface ShownEvents extends Verbs {
  /** Null: nothing has been read yet. */
  readonly list: EventList | null;
  readonly problem: Trouble | null;
  /** Pages had too little, and older ones are being looked through. */
  readonly isLooking: boolean;
}

const address = (name: string, limit: number, cursor: string | null): string => {
  const given = { limit: String(limit), ...(name === "" ? {} : { name }), ...(cursor === null ? {} : { cursor }) };
  return `/v1/events?${new URLSearchParams(given)}`;
};

interface Shows {
  readonly list: (list: EventList) => void;
  readonly problem: (problem: Trouble | null) => void;
  readonly looking: (isLooking: boolean) => void;
}

/** Reads what is shown of a name until it ends. */
class EventReading {
  readonly #name: string;
  readonly #shows: Shows;
  readonly #head: ReturnType<typeof renewal>;
  #list = NO_EVENTS;
  #isOver = false;
  #isReadingOn = false;
  /** Reading on has stopped before there was enough. */
  #isInterrupted = false;

  constructor(name: string, shows: Shows) {
    this.#name = name;
    this.#shows = shows;
    this.#head = renewal(() => this.#readHead());
  }

  readonly again = (): void => this.#head.ask();

  readonly more = (): void => {
    if (!this.#isReadingOn && !this.#isOver) void this.#readOn();
  };

  end(): void {
    this.#isOver = true;
    this.#head.end();
  }

  #show(list: EventList): void {
    this.#list = list;
    this.#shows.list(list);
  }

  async #readHead(): Promise<void> {
    const name = this.#name;
    try {
      const settled = firstIdAt(gatewayNowMs() - LATE_MS);
      const page = await get<EventPage>(address(name, HEAD, null));
      if (this.#isOver) return;
      this.#show(withNewest(this.#list, page, settled));
      if (this.#isInterrupted) this.more();
      else this.#shows.problem(null);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #readOn(): Promise<void> {
    this.#isReadingOn = true;
    this.#isInterrupted = true;
    try {
      await this.#readEnough();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isReadingOn = false;
      if (!this.#isOver) this.#shows.looking(false);
    }
  }

  async #readEnough(): Promise<void> {
    let left = ENOUGH;
    while (!this.#isOver && !document.hidden) {
      const { nextCursor, events } = this.#list;
      if (left <= 0 || nextCursor === null) {
        this.#isInterrupted = false;
        return;
      }
      const startMs = performance.now();
      const page = await get<EventPage>(address(this.#name, NEXT, nextCursor));
      if (this.#isOver) return;
      // A newer page has replaced the list: what was read is not next to it.
      if (this.#list.nextCursor !== nextCursor) continue;
      this.#show(withOlder(this.#list, page));
      this.#shows.problem(null);
      left -= this.#list.events.length - events.length;
      if (left <= 0 || page.nextCursor === null) continue;
      this.#shows.looking(true);
      const pauseMs = Math.min(MOST_PAUSE_MS, performance.now() - startMs);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** While the gateway is away the navigation says so, and what was read stays. */
  #fail(error: unknown): void {
    const isAway = error instanceof ApiError && error.status === 0;
    if (!this.#isOver && !isAway) this.#shows.problem(troubleOf(error));
  }
}

export function useEvents(name: string): ShownEvents {
  const [list, setList] = useState<EventList | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [isLooking, setLooking] = useState(false);
  const reading = useRef<EventReading | null>(null);
  const [verbs] = useState<Verbs>(() => ({
    more: () => reading.current?.more(),
    again: () => reading.current?.again(),
  }));
  const scope = environment.value;
  useEffect(() => {
    setList(null);
    setProblem(null);
    setLooking(false);
    const one = new EventReading(name, { list: setList, problem: setProblem, looking: setLooking });
    reading.current = one;
    one.again();
    const timer = setInterval(() => {
      if (!document.hidden) one.again();
    }, EVERY_MS);
    const end = onFacts(one.again, one.again);
    return () => {
      one.end();
      clearInterval(timer);
      end();
    };
  }, [name, scope]);
  return { list, problem, isLooking, ...verbs };
}
