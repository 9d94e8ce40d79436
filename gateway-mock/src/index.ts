export type { GatewayOptions } from "./config.ts";
export { type Gateway, startGateway } from "./server.ts";
