import type { SkippedBy } from "../port/events.ts";
import type { LostWhy } from "../port/store.ts";

/** What a unit comes to, as far as that is known before it is written. */
export type UnitResult =
  | { readonly won: false; readonly why: LostWhy }
  | {
      readonly won: true;
      readonly version: number | null;
      /** For each fact of its log, whether it was new. */
      readonly inserted: readonly boolean[];
      /** Its place among the log's writes; null = none of its facts was new. */
      readonly logIndex: number | null;
      readonly awaited: readonly string[];
    }
  | {
      readonly event: string;
      /** Of the first run that it made, the place among the log's writes; null = it made none. */
      readonly logIndex: number | null;
      readonly duplicate: boolean;
      readonly awaited: boolean;
      readonly skipped: readonly string[];
      readonly skippedWindows: number;
      readonly skippedBy: readonly SkippedBy[];
      readonly lost: boolean;
      readonly outdated: boolean;
    };
