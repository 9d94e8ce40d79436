import { Client, type NoSchemas } from "./client/client.ts";
import type { SchemaMap } from "./client/event-types.ts";
import { connect } from "./connection/main/connect.ts";
import type { Connection } from "./connection/main/connection.ts";
import type { ConnectOptions } from "./connection/shared/connect-options.ts";
import type { HoldfastFunction } from "./functions/define-function.ts";

/**
 * An app: where its functions are defined, its events are sent from, and its connection is made.
 *
 *     const holdfast = new Holdfast({ id: "my-app" });
 */
export class Holdfast<const Schemas extends SchemaMap = NoSchemas> extends Client<Schemas> {
  /**
   * Connects this app alone; `connect({ apps })` connects several over one connection. Resolves when it is ready.
   * @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`, `FUNCTION_DUPLICATE`, `CONNECT_TIMEOUT`, `CONNECT_REFUSED`
   */
  connect(options: { readonly functions: readonly HoldfastFunction[] } & ConnectOptions): Promise<Connection> {
    // What callers in JavaScript leave out is told by the checks behind this.
    const { functions, ...rest } = (options ?? {}) as typeof options;
    return connect({ ...rest, apps: [{ client: this, functions }] });
  }
}
