export const RUN_STATUSES = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];
