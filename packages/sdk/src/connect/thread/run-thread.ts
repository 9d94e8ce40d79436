import type { MessagePort } from "node:worker_threads";
import {
  HoldfastError,
  type PlainError,
  systemClock,
  systemRandom,
  systemTimers,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import type { ConnectionState } from "../shared/connection-state.ts";
import type { InitMessage, MainMessage } from "../shared/messages.ts";
import { sharedCounters } from "../shared/shared-counters.ts";
import { createClosing } from "./closing.ts";
import { createDebugMirror, stateOf } from "./debug-mirror.ts";
import { createDesk } from "./desk.ts";
import { createGatewayHttp } from "./gateway-http.ts";
import { createLinkDriver } from "./link-driver.ts";
import { watchMainLag } from "./main-lag.ts";
import { createMainPort, type MainPort } from "./main-port.ts";
import { createPortLogger } from "./port-logger.ts";
import { createTurn } from "./turn.ts";

/**
 * The connection thread: puts its parts together when INIT comes, and ends the thread when all is closed. Everything
 * it holds can be made again from main's ledger, so an error that nothing else catches may end it: main starts another.
 */
export function runThread(parent: MessagePort, exit: (code: number) => void): void {
  let release = (): void => {};
  const turn = createTurn(() => {
    port.flush();
    release();
  });
  const port = createMainPort(parent, () => turn.touch());
  let session: Session | undefined;

  port.listen((message) => {
    if (message.type === "INIT") {
      if (session) throw new HoldfastError("THREAD_PROTOCOL", "INIT came twice.");
      session = createSession(message, port, {
        touch: () => turn.touch(),
        end: () => {
          turn.end();
          port.close();
          exit(0);
        },
      });
      release = session.release;
    } else if (session) {
      session.onMessage(message);
    } else {
      throw new HoldfastError("THREAD_PROTOCOL", `${message.type} came before INIT.`);
    }
  });
}

interface Session {
  onMessage(message: Exclude<MainMessage, InitMessage>): void;
  release(): void;
}

function createSession(
  init: InitMessage,
  port: MainPort,
  life: { readonly touch: () => void; readonly end: () => void },
): Session {
  const { config } = init;
  const [clock, timers, random] = [systemClock, systemTimers, systemRandom];
  const counters = sharedCounters(init.counters);
  const logger = createPortLogger(port, counters);
  const { log } = logger;
  const http = createGatewayHttp(config, timers);
  const lag = watchMainLag(counters, clock, timers);
  let state: ConnectionState = "CONNECTING";
  let refusal: PlainError | null = null;

  const desk = createDesk({
    config,
    http,
    clock,
    timers,
    log,
    port,
    send: (bytes) => link.send(bytes),
    onProgress: () => closing.look(),
  });

  const link = createLinkDriver({
    config,
    http,
    clock,
    timers,
    random,
    log,
    touch: life.touch,
    listener: {
      onUp: (ready, start) => {
        desk.onUp(ready);
        port.post({ type: "CONNECTION_READY", connectionId: start.connectionId, extensions: desk.extensions });
      },
      onDown: () => desk.onDown(),
      onFrame: (frame, bytes) => desk.onFrame(frame, bytes),
      onStateChanged: () => {
        const next = stateOf(link.state);
        if (next !== state) port.post({ type: "STATE_CHANGE", state: next });
        state = next;
        mirror.changed();
      },
      onRefused: (error) => {
        refusal = toPlainError(error);
        port.post({ type: "ERROR", error: refusal, fatal: true });
      },
    },
  });

  const mirror = createDebugMirror(
    {
      link,
      desk,
      clock,
      crashes: init.crashes,
      lastError: () => refusal ?? link.lastError,
      mainLagMs: () => lag.lagMs,
      logsDropped: () => logger.dropped,
    },
    port,
    timers,
    config.debugMs,
  );

  const closing = createClosing({
    desk,
    link,
    http,
    timers,
    log,
    onClosed: (undelivered) => {
      mirror.changed();
      mirror.stop();
      lag.stop();
      desk.stop();
      port.post({ type: "CLOSED", undelivered });
      life.end();
    },
  });

  desk.adopt(init.adopted);

  return {
    release: () => link.release(),
    onMessage: (message) => {
      switch (message.type) {
        case "CONNECT":
          return link.connect(message.resumed);
        case "CLOSE":
          return closing.begin(message.drainMs);
        case "EXECUTION_RESPONSE":
        case "EXECUTION_ERROR":
        case "EXECUTION_DROPPED":
        case "CHECKPOINT":
          return desk.onMain(message);
        default:
          return unreachable(message);
      }
    },
  };
}
