/**
 * The entry into a connection thread, real or simulated: its port to main, and the thread itself once INIT has come.
 */
import { HoldfastError } from "@holdfast/core";
import { ConnectionThread } from "./connection-thread.ts";
import { createFlushScheduler } from "./flush-scheduler.ts";
import { createMainPort, type ParentPort } from "./main-port.ts";
import type { ThreadPorts } from "./thread-parts.ts";

/**
 * The connection thread: puts its parts together when INIT comes, and ends the thread when all is closed. Everything
 * it holds can be made again from main's ledger, so an error that nothing else catches may end it: main starts another.
 */
export function runThread(parent: ParentPort, ports: ThreadPorts): void {
  let prepareFlush = (): void => {};
  let flushSends = (): void => {};
  const scheduler = createFlushScheduler(() => {
    prepareFlush();
    port.flush();
    flushSends();
  });
  const port = createMainPort(parent, () => scheduler.schedule());
  let thread: ConnectionThread | undefined;

  port.listen((message) => {
    if (message.type === "INIT") {
      if (thread) throw new HoldfastError("THREAD_PROTOCOL", "INIT was received twice.");
      const made = new ConnectionThread(message, port, ports, {
        scheduleFlush: () => scheduler.schedule(),
        end: () => {
          scheduler.flushNow();
          port.close();
          ports.exit(0);
        },
      });
      thread = made;
      prepareFlush = () => made.prepareFlush();
      flushSends = () => made.flushSends();
    } else if (thread) {
      thread.onMessage(message);
    } else {
      throw new HoldfastError("THREAD_PROTOCOL", `${message.type} was received before INIT.`);
    }
  });
}
