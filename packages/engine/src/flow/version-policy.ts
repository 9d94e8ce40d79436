/**
 * Who may take a run that another version of its app has started. `prefer`: any worker, once none of its version is
 * connected at any gateway; `strict`: only a worker of its version; `any`: any worker.
 */
export const VERSION_POLICIES = ["prefer", "strict", "any"] as const;
export type VersionPolicy = (typeof VERSION_POLICIES)[number];
