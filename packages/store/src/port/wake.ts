export type Wake =
  /** Jobs of these functions may be due. */
  | { readonly type: "jobs"; readonly functionIds: readonly string[] }
  /** Jobs of these functions were put off, for whoever has a worker of their version. */
  | { readonly type: "held"; readonly functionIds: readonly string[] }
  /** Jobs of these functions that no worker has had yet may be for another version now. */
  | { readonly type: "unplaced"; readonly functionIds: readonly string[] }
  /** The registry of functions changed. */
  | { readonly type: "functions" }
  /** These runs were ended from outside (cancelled): whoever has their work should stop it. */
  | { readonly type: "ended"; readonly runIds: readonly string[] }
  /** These jobs are no more, though a worker may be at them. */
  | { readonly type: "removed"; readonly jobIds: readonly string[] }
  /** These jobs were given out again, as these requests: whoever has one of them under an earlier epoch should stop it. */
  | { readonly type: "given"; readonly requestIds: readonly string[] }
  /** Something may have been missed. */
  | { readonly type: "all" };
