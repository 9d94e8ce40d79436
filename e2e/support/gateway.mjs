/** The gateway as a user starts it: its bin, as a process, known by what it prints when it is ready. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Child } from "./child.mjs";
import { LIMIT_MS } from "./limits.mjs";

const folder = dirname(createRequire(import.meta.url).resolve("@holdfast/gateway/package.json"));
export const gatewayBin = join(folder, "dist/bin.js");

/**
 * @typedef {object} GatewayOptions
 * @property {string} [bin] of another build; default: that of this checkout
 * @property {string} [databaseUrl] default: its embedded Postgres in `dataDir`
 * @property {string} [dataDir]
 * @property {boolean} [extensions] default true; false: none, by our own rules
 * @property {boolean} [plain] none, and as strict as the reference's
 * @property {string} [heartbeat] such as "2s"
 * @property {string} [lease]
 * @property {string} [retryBase] the wait before a first retry
 * @property {number} [port] default: a free one
 * @property {number} [connectPort]
 * @property {readonly string[]} [nodeArgs]
 * @property {readonly string[]} [args]
 * @property {Readonly<Record<string, string>>} [env] such as its keys
 *
 * @typedef {Awaited<ReturnType<typeof startGateway>>} RunningGateway
 */

/**
 * A gateway that is ready.
 * @param {GatewayOptions} options
 */
export async function startGateway(options) {
  const args = [
    "dev",
    "--json",
    "--port",
    String(options.port ?? 0),
    "--connect-port",
    String(options.connectPort ?? 0),
  ];
  const add = (/** @type {string} */ flag, /** @type {string | undefined} */ value) => {
    if (value !== undefined) args.push(flag, value);
  };
  add("--database-url", options.databaseUrl);
  add("--data-dir", options.dataDir);
  add("--heartbeat", options.heartbeat);
  add("--lease", options.lease);
  add("--retry-base", options.retryBase);
  if (options.plain) args.push("--plain");
  else if (options.extensions === false) args.push("--no-extensions");
  args.push(...(options.args ?? []));

  const { bin = gatewayBin, nodeArgs = [], env = {} } = options;
  const child = new Child(bin, { name: "The gateway", args, nodeArgs, env });
  const ready = JSON.parse(await child.line((line) => line.startsWith("{") && line.includes('"ready"'), LIMIT_MS));
  return { child, url: String(ready.url), port: Number(ready.port), connectPort: Number(ready.connectPort) };
}
