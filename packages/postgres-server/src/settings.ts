/** Which settings a server runs with: ours by what the server is for, then the user's. */
import { HoldfastError } from "@holdfast/core";
import type { PostgresOptions } from "./options.ts";

const NAME = /^[a-z_][a-z0-9_.]*$/i;

const ALWAYS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  // The path of a socket may not be longer than some hundred characters; loopback has no such limit.
  unix_socket_directories: "",
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
  // Other kinds leave segments in the system's memory when the server is killed and its directory is then removed.
  dynamic_shared_memory_type: "mmap",
  log_checkpoints: "off",
  max_connections: "100",
};

/** Little memory, no wait for the disk. */
const THROWAWAY: Readonly<Record<string, string>> = {
  shared_buffers: "32MB",
  max_wal_size: "256MB",
  autovacuum_naptime: "60s",
};

/** A power cut may lose everything; a kill of the server loses nothing, because commits still reach the system. */
const NOT_DURABLE: Readonly<Record<string, string>> = {
  fsync: "off",
  full_page_writes: "off",
};

/** Ours, then the user's. @throws HoldfastError `OPTION_INVALID` */
export function effectiveSettings(options: PostgresOptions): Record<string, string> {
  const given = options.settings ?? {};
  for (const name of Object.keys(given)) {
    if (!NAME.test(name) || name === "port" || name === "data_directory") {
      throw new HoldfastError("OPTION_INVALID", `settings: "${name}" is not a setting that can be given here.`);
    }
  }
  const durable = options.durable ?? options.keep;
  return { ...ALWAYS, ...(options.keep ? {} : THROWAWAY), ...(durable ? {} : NOT_DURABLE), ...given };
}
