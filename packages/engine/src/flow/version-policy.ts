/**
 * Who may take a run that another version of its app has started. `prefer`: anybody, once no worker of its version is
 * connected at any gateway; `strict`: only a worker of its version; `any`: anybody.
 */
export const VERSION_POLICIES = ["prefer", "strict", "any"] as const;
export type VersionPolicy = (typeof VERSION_POLICIES)[number];
