import type { LostWhy } from "../port/store.ts";

/** What a unit comes to, before it is known which of its log rows were new. */
export type UnitResult =
  | { readonly won: false; readonly why: LostWhy }
  | {
      readonly won: true;
      readonly version: number | null;
      readonly firstLog: number;
      readonly logCount: number;
      readonly awaited: readonly string[];
    }
  | {
      readonly event: string;
      readonly duplicate: boolean;
      readonly awaited: boolean;
      readonly skipped: readonly string[];
      readonly skippedWindows: number;
      readonly lost: boolean;
      readonly outdated: boolean;
    };
