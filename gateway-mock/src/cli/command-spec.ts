/** What a command is made of, as its help shows it, and the names of all commands. */
import type { Rows } from "../config/settings.ts";

export type CommandName =
  | "dev"
  | "start"
  | "migrate"
  | "doctor"
  | "send"
  | "runs"
  | "run"
  | "tail"
  | "cancel"
  | "prune"
  | "hold"
  | "rerun"
  | "delete"
  | "bulk"
  | "pause"
  | "resume"
  | "rollout"
  | "workers"
  | "workers drain"
  | "workers resume"
  | "export"
  | "replay"
  | "check"
  | "keys create"
  | "keys hash"
  | "keys list";

/** `keys` alone only shows help. */
export type SpecName = CommandName | "keys";

export interface CommandSpec {
  readonly name: SpecName;
  /** The heading that the list of commands has it under. */
  readonly group: string;
  readonly summary: string;
  readonly description: string;
  /** As `commander` writes them: `<event>`, `[key]`, `<run...>`. */
  readonly args: readonly { readonly name: string; readonly doc: string }[];
  readonly rows: Rows;
  readonly examples: readonly { readonly doc: string; readonly line: string }[];
}

export const RUN_A_GATEWAY = "Run a gateway:";
export const WORK_WITH_IT = "Work with a running gateway:";
export const KEYS = "Keys:";
