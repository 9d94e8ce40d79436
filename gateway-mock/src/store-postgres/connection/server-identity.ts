/** Which server is behind a connection: what changes when a standby is promoted, or another server takes the address. */

import { troubleOf } from "./pg-errors.ts";
import type { Query } from "./query.ts";

/** Null: the server does not say, as some managed ones do not. */
export interface ServerIdentity {
  /** Given once, to a cluster and all its copies. */
  readonly system: string | null;
  /** Rises with each promotion. */
  readonly timeline: string | null;
}

/** Each by itself, outside of a transaction: managed servers refuse the one or the other. */
const SYSTEM = "SELECT system_identifier::text AS value FROM pg_control_system()";
/** The name of a log file begins with the timeline; that of the control file may be the one before a promotion for a while. */
const TIMELINE = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS value";

export async function readServerIdentity(query: Query): Promise<ServerIdentity> {
  const answerTo = async (text: string): Promise<string | null> => {
    try {
      const [row] = await query<{ value: string | null }>(text);
      return row?.value ?? null;
    } catch (error) {
      if (troubleOf(error) === "connection") throw error;
      return null;
    }
  };
  return { system: await answerTo(SYSTEM), timeline: await answerTo(TIMELINE) };
}

/** What is not known does not differ. */
export function isSameServer(a: ServerIdentity, b: ServerIdentity): boolean {
  const differs = (one: string | null, other: string | null): boolean =>
    one !== null && other !== null && one !== other;
  return !differs(a.system, b.system) && !differs(a.timeline, b.timeline);
}

export const serverText = ({ system, timeline }: ServerIdentity): string =>
  `system ${system ?? "unknown"}, timeline ${timeline === null ? "unknown" : Number.parseInt(timeline, 16)}`;
