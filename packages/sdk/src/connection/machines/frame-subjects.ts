/**
 * Sorts a gateway's frames: those about the connection go to the link machine, those about requests go past it to the
 * `RequestManager`. A new kind of frame without a subject does not compile.
 */
import type { GatewayFrame } from "@holdfast/protocol";

/** What each frame of a gateway is about: the connection itself, or the work that goes over it. */
const FRAME_SUBJECTS = {
  GATEWAY_HELLO: "link",
  GATEWAY_CONNECTION_READY: "link",
  GATEWAY_HEARTBEAT: "link",
  GATEWAY_CLOSING: "link",
  SYNC_FAILED: "link",
  GATEWAY_EXECUTOR_REQUEST: "work",
  WORKER_REPLY_ACK: "work",
  WORKER_REQUEST_EXTEND_LEASE_ACK: "work",
  GATEWAY_CHECKPOINT_ACK: "work",
  GATEWAY_CANCEL: "work",
  GATEWAY_RESULTS: "work",
} as const satisfies Readonly<Record<GatewayFrame["kind"], "link" | "work">>;

type KindAbout<Subject extends "link" | "work"> = {
  [Kind in GatewayFrame["kind"]]: (typeof FRAME_SUBJECTS)[Kind] extends Subject ? Kind : never;
}[GatewayFrame["kind"]];

export type LinkFrame = Extract<GatewayFrame, { kind: KindAbout<"link"> }>;
export type WorkFrame = Extract<GatewayFrame, { kind: KindAbout<"work"> }>;

export function isLinkFrame(frame: GatewayFrame): frame is LinkFrame {
  return FRAME_SUBJECTS[frame.kind] === "link";
}
