/** What a command is made of, as its help shows it, and the names of all commands. */
import type { Rows } from "../config/settings.ts";

export type CommandName =
  | "dev"
  | "start"
  | "migrate"
  | "doctor"
  | "explain"
  | "send"
  | "signal"
  | "runs"
  | "run"
  | "tail"
  | "cancel"
  | "prune"
  | "hold"
  | "rerun"
  | "compensate"
  | "delete"
  | "bulk"
  | "pause"
  | "resume"
  | "rollout"
  | "functions"
  | "graphs"
  | "graphs get"
  | "graphs put"
  | "graphs publish"
  | "graphs unpublish"
  | "graphs run"
  | "graphs delete"
  | "workers"
  | "workers drain"
  | "workers resume"
  | "fault"
  | "fault add"
  | "fault clear"
  | "fault history"
  | "fault run"
  | "torture"
  | "export"
  | "replay"
  | "check"
  | "keys create"
  | "keys hash"
  | "keys list";

export type FaultCommand = Extract<CommandName, "fault" | `fault ${string}`>;
export const isFaultCommand = (name: CommandName): name is FaultCommand =>
  name === "fault" || name.startsWith("fault ");

export type GraphCommand = Extract<CommandName, "graphs" | `graphs ${string}`>;
export const isGraphCommand = (name: CommandName): name is GraphCommand =>
  name === "graphs" || name.startsWith("graphs ");

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
