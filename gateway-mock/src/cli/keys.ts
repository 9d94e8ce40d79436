/** `keys create`, `keys hash` and `keys list`: the keys that apps and clients show to a gateway. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { COMMAND_OPTIONS } from "../config/command-options.ts";
import { readGatewayFile } from "../config/config-file.ts";
import { readGatewayKeys } from "../config/keys-config.ts";
import { givenValues, readSettings, usage } from "../config/settings.ts";
import { hashSigningKey, type NamedKey, shownEnvironment } from "../http/keys.ts";
import { KEYS_CREATE_OPTIONS, KEYS_HASH_OPTIONS, KEYS_LIST_OPTIONS } from "./commands.ts";
import { type CommandContext, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { printJson } from "./output.ts";
import { tableText } from "./table.ts";

const SIGNING_BYTES = 32;
const EVENT_BYTES = 24;

export async function createKeys(context: CommandContext): Promise<ExitCode> {
  const { name, json } = readOptions(KEYS_CREATE_OPTIONS, context);
  if (!/^\w+$/.test(name)) throw usage(`--name must be letters, digits and underscores, not "${name}".`);
  const signingKey = `signkey-${name}-${randomBytes(SIGNING_BYTES).toString("hex")}`;
  const eventKey = randomBytes(EVENT_BYTES).toString("base64url");
  if (json) printJson(context.output, { signingKey, eventKey });
  else context.output.print(`HOLDFAST_SIGNING_KEY=${signingKey}\nHOLDFAST_EVENT_KEY=${eventKey}\n`);
  return EXIT.done;
}

export async function hashKey(context: CommandContext): Promise<ExitCode> {
  const { signingKey, json } = readOptions(KEYS_HASH_OPTIONS, context);
  const [given = signingKey] = context.args;
  if (given === undefined) throw usage("There is no key to hash: give it, or set HOLDFAST_SIGNING_KEY.");
  const hash = hashSigningKey((given === "-" ? readFileSync(0, "utf8") : given).trim());
  if (json) printJson(context.output, { hash });
  else context.output.print(`${hash}\n`);
  return EXIT.done;
}

export async function listKeys(context: CommandContext): Promise<ExitCode> {
  const { config, json } = readOptions({ config: COMMAND_OPTIONS.config, json: KEYS_LIST_OPTIONS.json }, context);
  const file = readGatewayFile(config);
  const settings = readSettings(KEYS_LIST_OPTIONS, { ...context, file });
  const { signingKeys, eventKeys } = readGatewayKeys(givenValues(settings));
  const shown = [
    ...signingKeys.map((key) => shownKey("signing", key)),
    ...eventKeys.map((key) => shownKey("event", key)),
  ];
  const { output } = context;
  if (json) printJson(output, { keys: shown });
  else if (shown.length === 0) output.note("There are no keys: every client on this machine may do everything.\n");
  else {
    const rows = shown.map((key) => [key.name, key.kind, key.environment ?? "any", key.fingerprint ?? "-"]);
    output.print(tableText(["NAME", "KIND", "ENVIRONMENT", "FINGERPRINT"], rows));
  }
  return EXIT.done;
}

/** The fingerprint tells keys apart and opens nothing. */
function shownKey(kind: "signing" | "event", { name, key, environment }: NamedKey) {
  // An event key may be short enough to be guessed from one.
  const fingerprint =
    kind === "event" ? null : createHash("sha256").update(`fingerprint ${key}`).digest("hex").slice(0, 12);
  return { name, kind, environment: environment === null ? null : shownEnvironment(environment), fingerprint };
}
