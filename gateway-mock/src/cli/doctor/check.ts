/** What `doctor` finds: each a line, with what to do about it. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail" | "skipped";
  readonly message: string;
  readonly fix?: string;
}

export const ok = (name: string, message: string): Check => ({ name, status: "ok", message });
export const warn = (name: string, message: string, fix: string): Check => ({ name, status: "warn", message, fix });
export const fail = (name: string, message: string, fix: string): Check => ({ name, status: "fail", message, fix });
export const skipped = (name: string, message: string): Check => ({ name, status: "skipped", message });
