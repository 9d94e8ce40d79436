export type { GatewayOptions } from "./gateway-options.ts";
export type { GatewayKey } from "./keys-config.ts";
export { type Gateway, startGateway } from "./server.ts";
