/**
 * Writes to stderr past the main thread, for the one message that must come out while main is blocked: the stall
 * report.
 */
import { fstatSync, write, writeSync } from "node:fs";

/** Waits for a pipe that is full. */
const RETRY_MS = 50;
const MAX_RETRIES = 40;
const STDERR = 2;

/**
 * The thread's own way to stderr: `process.stderr` of a thread goes through the main thread, which may be the one that is
 * blocked. A pipe that nothing reads must not stop the thread either, so only files are written to at once; for anything
 * else one write at a time waits in Node's thread pool. What comes meanwhile is dropped and counted.
 */
export interface EmergencyChannel {
  write(text: string): void;
}

export function createEmergencyChannel(fd = STDERR): EmergencyChannel {
  let busy = false;
  let dropped = 0;

  const send = (rest: Buffer, retries: number): void => {
    write(fd, rest, (error, written) => {
      if (error === null && written < rest.byteLength) return send(rest.subarray(written), retries);
      if (error?.code === "EAGAIN" && retries > 0) {
        return void setTimeout(() => send(rest, retries - 1), RETRY_MS).unref();
      }
      busy = false;
    });
  };

  return {
    write: (text) => {
      if (busy) {
        dropped += 1;
        return;
      }
      const note = dropped > 0 ? `holdfast: ${dropped} earlier messages could not be written here.\n` : "";
      dropped = 0;
      const bytes = Buffer.from(`${note}${text}\n`);
      try {
        if (fstatSync(fd).isFile()) return void writeSync(fd, bytes);
      } catch {
        // Stderr is closed, or the disk is full: there is nowhere left to report it.
        return;
      }
      busy = true;
      send(bytes, MAX_RETRIES);
    },
  };
}
