export * from "./store.ts";
export type * from "./store-reads.ts";
