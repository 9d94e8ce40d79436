export type { GatewayOptions } from "./config.ts";
export type { GatewayKey } from "./keys-config.ts";
export { type Gateway, startGateway } from "./server.ts";
