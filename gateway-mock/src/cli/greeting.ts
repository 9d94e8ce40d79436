/** What `dev` shows when it is ready: where it is, and commands that work as they are typed. Pure. */
import type { GatewayOptions, StoreName } from "../config/gateway-options.ts";
import { readGatewayKeys } from "../config/keys-config.ts";
import type { Gateway } from "../server.ts";
import { VERSION } from "../version.ts";

export interface GreetingFacts {
  readonly gateway: Pick<Gateway, "url" | "port" | "connectUrl" | "connectPort"> & {
    /** A new one-time address; null without a dashboard. */
    readonly dashboardLink: () => string | null;
  };
  readonly options: GatewayOptions;
  /** How this program is called; see `invokedAs`. */
  readonly program: string;
  /** The flag that names the key file, as it has to be typed; empty where there is none. */
  readonly keysFlag: string;
}

/** The line about the store that a terminal shows at start. */
const STORE_TEXTS: Readonly<Record<StoreName, (options: GatewayOptions) => string>> = {
  postgres: ({ databaseUrl, dataDir = ".holdfast", keepData = true }) => {
    if (databaseUrl !== undefined && databaseUrl !== "") return "your Postgres";
    return keepData ? `embedded Postgres in ${dataDir}` : "embedded Postgres (gone when this process ends)";
  },
  memory: () => "memory (gone when this process ends)",
};

export function greeting(facts: GreetingFacts): string {
  const { gateway, options } = facts;
  const commands = commandsOf(facts);
  return `
  Holdfast gateway ${VERSION}, for development

${dashboardLine(facts)}  HTTP       ${gateway.url}
  WebSocket  ${gateway.connectUrl}
  Store      ${STORE_TEXTS[options.store ?? "postgres"](options)}

  Connect an app:   ${commands.connect}
  Send an event:    ${commands.send}
  List the runs:    ${commands.list}
${keysLine(options)}
`;
}

/** Each can be typed into a shell that has the variables this process has. */
export function commandsOf({ gateway, options, program, keysFlag }: GreetingFacts): {
  readonly connect: string;
  readonly send: string;
  readonly list: string;
} {
  const url = callableUrl(gateway);
  const flags = `${isDefaultUrl(url) ? "" : ` --url ${url}`}${keysFlag === "" ? "" : ` ${keysFlag}`}`;
  const { eventKeys } = readGatewayKeys(options);
  const data = `'{"name":"demo/hello","data":{}}'`;
  return {
    connect: `HOLDFAST_DEV=${url} node app.js`,
    // What curl is to do depends on no program of ours.
    send: eventKeys.length === 0 ? `curl ${url}/e/dev -d ${data}` : `${program} send demo/hello${flags}`,
    list: `${program} runs${flags}`,
  };
}

/** With keys an address that signs in once: a terminal is where the keys' owner reads. */
function dashboardLine({ gateway, options }: GreetingFacts): string {
  const link = gateway.dashboardLink();
  if (link === null) return "";
  const { signingKeys } = readGatewayKeys(options);
  if (signingKeys.length === 0) return `  Dashboard  ${callableUrl(gateway)}\n`;
  const { hash } = new URL(link);
  return `  Dashboard  ${callableUrl(gateway)}/${hash}  (signs in once, within 15 minutes)\n`;
}

function keysLine(options: GatewayOptions): string {
  const { signingKeys } = readGatewayKeys(options);
  if (signingKeys.length === 0) return "";
  return "\n  Keys are required: commands and apps need the variables or files that this gateway was started with.\n";
}

/** An address that stands for all of a machine's can be listened on, not called. */
export function callableUrl({ url, port }: Pick<Gateway, "url" | "port">): string {
  const { hostname } = new URL(url);
  if (hostname === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return hostname === "[::]" ? `http://[::1]:${port}` : url;
}

const isDefaultUrl = (url: string): boolean => url === "http://127.0.0.1:8288" || url === "http://localhost:8288";
