import type { Adversary } from "./adversaries.ts";

/** A guard of the production code, and how it is switched off in a bundle of the simulation. */
export interface Guard {
  readonly name: string;
  /** It is for schedules with this adversary. */
  readonly against?: Adversary;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}
