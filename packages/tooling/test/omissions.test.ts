import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import { filesBelow, inRoot } from "../src/workspace.mjs";

/** Something that is left out of a source, and the complaint of the compiler that must follow. */
interface Omission {
  readonly name: string;
  /** Where the one file is that it can be taken out of. */
  readonly room: string;
  /** Taken out, or put in the place of what is taken out. */
  readonly cut: RegExp;
  readonly put?: string;
  /** Name of the file where the compiler complains; default: the same one. */
  readonly seenIn?: string;
  readonly says: RegExp;
}

const protocol = "packages/protocol/src";
const sdk = "packages/sdk/src";
const engine = "packages/engine/src";
const gateway = "gateway-mock/src";

const omissions: readonly Omission[] = [
  {
    name: "a frame of the gateway without a codec",
    room: protocol,
    cut: / {2}GATEWAY_CANCEL: \{[\s\S]*?\n {2}\},\n/,
    says: /'GATEWAY_CANCEL' is missing/,
  },
  {
    name: "a frame that cannot be decoded",
    room: protocol,
    cut: / {4}read: \(reader\) => withKind\("WORKER_REPLY", .*\n/,
    says: /'read' is missing/,
  },
  {
    name: "a kind in connect.proto that is no frame",
    room: protocol,
    cut: / {2}\| RequestNack\n/,
    seenIn: "codec-worker.ts",
    says: /not assignable to type '"WORKER_REQUEST_NACK"'|'never'/,
  },
  {
    name: "a frame of the gateway of which it is not said to which extension it belongs",
    room: protocol,
    cut: / {2}GATEWAY_CANCEL: "cancel",\n/,
    says: /'GATEWAY_CANCEL' is missing/,
  },
  {
    name: "a reason of a refusal without a number",
    room: protocol,
    cut: / {2}AT_CAPACITY: 4,\n/,
    says: /'AT_CAPACITY' is missing/,
  },
  {
    name: "a frame that is neither about the link nor about work",
    room: sdk,
    cut: / {2}GATEWAY_CANCEL: "work",\n/,
    says: /'GATEWAY_CANCEL' is missing/,
  },
  {
    name: "a frame about work that nothing is done with",
    room: sdk,
    cut: / {6}case "GATEWAY_CHECKPOINT_ACK":\n.*\n/,
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "a frame about the link that nothing is done with",
    room: sdk,
    cut: /(?<=case "GATEWAY_CONNECTION_READY":\n)\s+case "SYNC_FAILED":\n/,
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "a step tool that is promised and not made",
    room: sdk,
    cut: / {4}sendSignal: \(id: StepId, options: unknown\) =>.*\n/,
    says: /'sendSignal' is missing/,
  },
  {
    name: "a message between the threads that is not known as one",
    room: sdk,
    cut: / {2}STALL_ENDED: true,\n/,
    says: /'STALL_ENDED' is missing/,
  },
  {
    name: "an op that a kind of step sends and none recognises on replay",
    room: sdk,
    cut: /op: "InvokeFunction", isWait: false/,
    put: 'op: "AIGateway", isWait: false',
    seenIn: "signature.ts",
    says: /aigateway/,
  },
  {
    name: "a kind of step without a row",
    room: sdk,
    cut: / {2}fetch: \{ op: .*\n/,
    says: /'fetch' is missing/,
  },
  {
    name: "a row of a kind of step that does not say whether it is a wait",
    room: sdk,
    cut: /(?<=sleep: \{ op: "Sleep",) isWait: true,/,
    says: /'isWait' is missing/,
  },
  {
    name: "an op that no kind of step is recorded as",
    room: sdk,
    cut: /(?<=recordedAs: \[)"WaitForEvent"/,
    seenIn: "signature.ts",
    says: /'waitforevent' is missing/,
  },
  {
    name: "an op that is neither a wait nor decided on",
    room: engine,
    cut: /(?<=PARKED_OPS = \[[^\]]*)"InvokeFunction", /,
    seenIn: "ops.ts",
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "a wait that never begins",
    room: engine,
    cut: / {4}case "InvokeFunction":\n {6}return invoke\(draft, op\);\n/,
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "an option of connect() without a row",
    room: sdk,
    cut: / {2}maxStall: \{[\s\S]*?\n {2}\},\n/,
    says: /'maxStall' is missing/,
  },
  {
    name: "a row for an option of connect() that its type does not have",
    room: sdk,
    cut: / {2}readonly drainTimeout\?: DurationInput;\n/,
    seenIn: "connect-option-table.ts",
    says: /'drainTimeout' does not exist/,
  },
  {
    name: "an option of a group without a row",
    room: sdk,
    cut: / {2}minUptime: \{.*\},\n/,
    says: /'minUptime' is missing/,
  },
  {
    name: "an option of the client that the docs say nothing of",
    room: sdk,
    cut: / {2}logger: "console-shaped or pino-shaped; default the console",\n/,
    says: /'logger' is missing/,
  },
  {
    name: "an option of the gateway without a row",
    room: gateway,
    cut: / {2}drainMs: \{[\s\S]*?\n {2}\},\n/,
    says: /'drainMs' is missing/,
  },
  {
    name: "a row for an option that the gateway does not have",
    room: gateway,
    cut: / {2}readonly drainMs\?: number;\n/,
    seenIn: "option-table.ts",
    says: /'drainMs' does not exist/,
  },
  {
    name: "an option of the gateway whose row checks another type",
    room: gateway,
    cut: /(?<= {2}dataDir: \{\n {4}kind: )TEXT/,
    put: "SWITCH",
    says: /Type 'boolean' is not assignable to type 'string'/,
  },
  {
    name: "an option of the gateway that does not say which variables set it",
    room: gateway,
    cut: / {4}variables: \["HOLDFAST_GATEWAY_DATA_DIR"\],\n/,
    says: /'variables' is missing/,
  },
];

interface Planted {
  readonly file: string;
  readonly text: string;
  readonly seenIn: string;
}

const sources = new Map(
  [protocol, engine, sdk, gateway].map((room) => [
    room,
    filesBelow([room])
      .filter((path) => path.endsWith(".ts"))
      .map((path) => ({ path, text: readFileSync(inRoot(path), "utf8") })),
  ]),
);

/** The source without what the omission leaves out. */
function plant({ name, room, cut, put = "", seenIn }: Omission): Planted {
  const files = sources.get(room) ?? [];
  const [found, ...others] = files.filter(({ text }) => cut.test(text));
  if (found === undefined || others.length > 0) {
    throw new Error(`"${name}" can be taken out of ${others.length + (found ? 1 : 0)} files in ${room}, not of one.`);
  }
  const seen = seenIn === undefined ? found : files.find(({ path }) => path.endsWith(`/${seenIn}`));
  if (seen === undefined) throw new Error(`There is no ${seenIn} in ${room}.`);
  return { file: found.path, text: found.text.replace(cut, put), seenIn: seen.path };
}

const { config } = ts.readConfigFile(inRoot("tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, inRoot("."));
const plainHost = ts.createCompilerHost(options);
const parsed = new Map<string, ts.SourceFile | undefined>();
let previous: ts.Program | undefined;

/** What the compiler says of one file, as it is or with something planted. */
function complaints(seenIn: string, planted?: Planted): string {
  const program = ts.createProgram(
    [inRoot(seenIn)],
    options,
    {
      ...plainHost,
      getSourceFile: (name, version) => {
        if (planted && name === inRoot(planted.file)) return ts.createSourceFile(name, planted.text, version);
        // All else is parsed once.
        if (!parsed.has(name)) parsed.set(name, plainHost.getSourceFile(name, version));
        return parsed.get(name);
      },
    },
    previous,
  );
  previous = program;
  return program
    .getSemanticDiagnostics(program.getSourceFile(inRoot(seenIn)))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))
    .join("\n");
}

test.each(omissions)("the code does not compile with an omission: $name", (omission) => {
  const planted = plant(omission);
  expect(complaints(planted.seenIn)).toBe("");
  expect(complaints(planted.seenIn, planted)).toMatch(omission.says);
});
