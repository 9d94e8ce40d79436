/** What every command is given, and how it reads its options. */
import type { ResolvedTable } from "../config/option-kinds.ts";
import { type Environment, type Flags, type Rows, readSettings, valuesOf } from "../config/settings.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type GatewayClient, gatewayClient } from "./gateway-client.ts";
import type { Output } from "./output.ts";

export interface CommandContext {
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly env: Environment;
  readonly output: Output;
}

/** @throws HoldfastError `GATEWAY_USAGE` */
export function readOptions<Table extends Rows>(table: Table, { flags, env }: CommandContext): ResolvedTable<Table> {
  return valuesOf(table, readSettings(table, { flags, env }));
}

/** @throws HoldfastError `GATEWAY_USAGE`, `SIGNING_KEY_INVALID` */
export function clientOf(context: CommandContext): GatewayClient {
  return gatewayClient(readOptions(CLIENT_OPTIONS, context));
}
