/** Requests that ask for another protocol which the gateway does not speak, as Java's HTTP client does for HTTP/2. */
import { IncomingMessage } from "node:http";

const IS_ASKED = Symbol("upgrade");

/**
 * Node hands every request with `Upgrade` to who takes upgrades, whatever it asks for. An upgrade is an offer that a
 * server may ignore (RFC 9110, 7.8): only those to a WebSocket are taken, the others are requests like any.
 */
export class IncomingRequest extends IncomingMessage {
  [IS_ASKED]?: boolean;

  /** Set by Node's parser, and read once the headers are there. */
  get upgrade(): boolean {
    if (this[IS_ASKED] !== true) return false;
    return this.method === "CONNECT" || /\bwebsocket\b/i.test(this.headers.upgrade ?? "");
  }

  set upgrade(isAsked: boolean) {
    this[IS_ASKED] = isAsked;
  }
}
