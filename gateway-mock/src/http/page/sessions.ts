/**
 * Sessions of the dashboard: who signed in with a key or a one-time link, as a cookie that says so by itself. It is
 * signed with what only holders of the key can compute, so every gateway with that key takes it, and none has a list
 * (docs/decisions/0114-sessions-without-a-list.md).
 */
import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "@holdfast/core";
import { type Bearer, type Keys, sameSecret } from "../keys.ts";

export const SESSION_COOKIE = "holdfast_session";

/** How long a session lasts: a working day. */
export const SESSION_MS = 12 * 3_600_000;
/** How long a one-time link waits to be opened. */
export const LINK_MS = 15 * 60_000;
const MAX_LINKS = 100;
/** Sessions that were signed out here before their end. Beyond it all that began before are over. */
const MAX_ENDED = 10_000;

export interface Session {
  readonly id: string;
  readonly bearer: Bearer;
  readonly beganMs: number;
  readonly endsMs: number;
  /** What a request that changes something must send beside the cookie. */
  readonly csrf: string;
}

export class PageSessions {
  readonly #keys: Keys;
  readonly #clock: Pick<Clock, "nowMs">;
  /** Digests of links that wait to be opened, with their ends; the oldest first. */
  readonly #links = new Map<string, number>();
  /** Ids of sessions that were signed out, with their ends; the oldest first. */
  readonly #ended = new Map<string, number>();
  /** Sessions that began before are over. */
  #validFromMs = 0;
  readonly #maxEnded: number;

  constructor(keys: Keys, clock: Pick<Clock, "nowMs">, { maxEnded = MAX_ENDED } = {}) {
    this.#keys = keys;
    this.#clock = clock;
    this.#maxEnded = maxEnded;
  }

  /** A session, and the value of its cookie. */
  begin(bearer: Bearer): { readonly session: Session; readonly cookie: string } {
    const beganMs = this.#clock.nowMs();
    const endsMs = beganMs + SESSION_MS;
    const text = `${beganMs}.${endsMs}.${randomBytes(16).toString("hex")}`;
    const cookie = `${text}.${this.#keys.sign(bearer, "session", text)}`;
    return { session: this.#sessionOf(text, bearer), cookie };
  }

  /** The session of a `Cookie` header; undefined: it has none that is good. */
  read(cookies: string | undefined): Session | undefined {
    for (const value of cookieValues(cookies)) {
      const session = this.#check(value);
      if (session) return session;
    }
    return undefined;
  }

  #check(value: string): Session | undefined {
    const [, text = "", mac = ""] = /^(\d{1,15}\.\d{1,15}\.[0-9a-f]{32})\.([0-9a-f]{64})$/.exec(value) ?? [];
    const bearer = text === "" ? undefined : this.#keys.signedBy("session", text, mac);
    if (!bearer) return undefined;
    const session = this.#sessionOf(text, bearer);
    const { id, beganMs, endsMs } = session;
    if (endsMs <= this.#clock.nowMs() || beganMs < this.#validFromMs || this.#ended.has(id)) return undefined;
    return session;
  }

  #sessionOf(text: string, bearer: Bearer): Session {
    const [beganMs, endsMs, id = ""] = text.split(".");
    const csrf = this.#keys.sign(bearer, "csrf", text);
    return { id, bearer, beganMs: Number(beganMs), endsMs: Number(endsMs), csrf };
  }

  /** From now on this gateway refuses it. The others take its cookie until it ends, where someone has kept it. */
  end({ id, endsMs }: Session): void {
    this.#ended.set(id, endsMs);
    dropOver(this.#ended, this.#clock.nowMs());
    if (this.#ended.size <= this.#maxEnded) return;
    this.#ended.clear();
    this.#validFromMs = this.#clock.nowMs() + 1;
  }

  /** What signs in once, at this gateway, within `LINK_MS`. */
  newLink(): string {
    const link = randomBytes(24).toString("base64url");
    const nowMs = this.#clock.nowMs();
    dropOver(this.#links, nowMs);
    for (const oldest of this.#links.keys()) {
      if (this.#links.size < MAX_LINKS) break;
      this.#links.delete(oldest);
    }
    this.#links.set(digest(link), nowMs + LINK_MS);
    return link;
  }

  /** Who the link signs in; undefined: it has been used, has expired, or was never given out here. */
  redeem(link: string): Bearer | undefined {
    dropOver(this.#links, this.#clock.nowMs());
    return this.#links.delete(digest(link)) ? this.#keys.owner : undefined;
  }
}

/** Whether a request has the session's token. */
export const hasToken = ({ csrf }: Session, given: string | undefined): boolean =>
  given !== undefined && sameSecret(given, csrf);

/** Servers on other ports of a host set cookies for it too: there may be several of the name. */
function cookieValues(header: string | undefined): string[] {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.flatMap(([name, value]) => (name === SESSION_COOKIE && value ? [value] : [])).slice(0, 5);
}

function dropOver(ends: Map<string, number>, nowMs: number): void {
  for (const [id, endsMs] of ends) {
    if (endsMs <= nowMs) ends.delete(id);
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
