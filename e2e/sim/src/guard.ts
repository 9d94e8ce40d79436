/** A guard of the production code, and how it is switched off in a bundle of the simulation. */
export interface Guard {
  readonly name: string;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}
