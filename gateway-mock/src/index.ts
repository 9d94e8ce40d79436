export type { GatewayOptions } from "./config/gateway-options.ts";
export type { GatewayKey } from "./config/keys-config.ts";
export { type Gateway, startGateway } from "./server.ts";
