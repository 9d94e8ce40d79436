/** `holdfast/connect`. It only re-exports from the main entry, so that an app never has two copies of the SDK. */
export { type Connection, type ConnectionState, type ConnectOptions, connect } from "./index.ts";
