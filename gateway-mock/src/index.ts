export type { GatewayOptions } from "./config/gateway-options.ts";
export type { GatewayKey } from "./config/keys-config.ts";
export type {
  Fault,
  FaultDirection,
  FaultFrameKind,
  FaultFramePlace,
  FaultKind,
  FaultLimits,
  FaultMoment,
  FaultOperation,
  FaultRequest,
  FaultRequestPlace,
  FaultStatus,
  FaultThatHappened,
} from "./faults/rules/fault-request.ts";
export { type Gateway, startGateway } from "./server.ts";
