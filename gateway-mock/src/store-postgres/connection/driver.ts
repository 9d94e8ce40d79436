/** Opens the driver on an address, with what the address says of TLS. */
import postgres from "postgres";
import { driverAddress } from "./tls-options.ts";

/** @throws HoldfastError `OPTION_INVALID` for TLS options that cannot be used */
export function openDriver(url: string, options: postgres.Options<Record<string, never>>): postgres.Sql {
  const { address, ssl } = driverAddress(url);
  return postgres(address, ssl === undefined ? options : { ...options, ssl });
}
