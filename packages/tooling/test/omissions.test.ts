import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import { inRoot } from "../src/workspace.mjs";

/** Something that is left out of a source, and the complaint of the compiler that must follow. */
interface Omission {
  readonly name: string;
  readonly file: string;
  /** Taken out, or put in the place of what is taken out. */
  readonly cut: RegExp;
  readonly put?: string;
  /** Where the compiler complains; default: in the same file. */
  readonly seenIn?: string;
  readonly says: RegExp;
}

const protocol = "packages/protocol/src";
const sdk = "packages/sdk/src";

const omissions: readonly Omission[] = [
  {
    name: "a frame of the gateway without a codec",
    file: `${protocol}/codec-gateway.ts`,
    cut: / {2}GATEWAY_CANCEL: \{[\s\S]*?\n {2}\},\n/,
    says: /'GATEWAY_CANCEL' is missing/,
  },
  {
    name: "a frame that cannot be decoded",
    file: `${protocol}/codec-worker.ts`,
    cut: / {4}decode: \(payload\) => \(\{ kind: "WORKER_REPLY", .*\n/,
    says: /'decode' is missing/,
  },
  {
    name: "a kind in connect.proto that is no frame",
    file: `${protocol}/frames.ts`,
    cut: / {2}\| RequestNack\n/,
    seenIn: `${protocol}/codec-worker.ts`,
    says: /not assignable to type '"WORKER_REQUEST_NACK"'|'never'/,
  },
  {
    name: "a reason of a refusal without a number",
    file: `${protocol}/codec-worker.ts`,
    cut: / {2}AT_CAPACITY: 4,\n/,
    says: /'AT_CAPACITY' is missing/,
  },
  {
    name: "a frame that is neither about the link nor about work",
    file: `${sdk}/connect/core/frame-subjects.ts`,
    cut: / {2}GATEWAY_CANCEL: "work",\n/,
    says: /'GATEWAY_CANCEL' is missing/,
  },
  {
    name: "a frame about work that nothing is done with",
    file: `${sdk}/connection/thread/desk.ts`,
    cut: / {6}case "GATEWAY_CHECKPOINT_ACK":\n.*\n/,
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "a frame about the link that nothing is done with",
    file: `${sdk}/connect/core/link-machine.ts`,
    cut: / {4}case "SYNC_FAILED":\n/,
    says: /not assignable to parameter of type 'never'/,
  },
  {
    name: "a step tool that is promised and not made",
    file: `${sdk}/steps/step-tools.ts`,
    cut: / {4}sendSignal: \(id: StepId, options: unknown\) =>.*\n/,
    says: /'sendSignal' is missing/,
  },
  {
    name: "a kind of step without a row",
    file: `${sdk}/steps/step-kinds.ts`,
    cut: / {2}fetch: \{.*\},\n/,
    says: /'fetch' is missing/,
  },
  {
    name: "a row of a kind of step that does not say whether it is a wait",
    file: `${sdk}/steps/step-kinds.ts`,
    cut: /(?<=sleep: \{ op: "Sleep",) isWait: true,/,
    says: /'isWait' is missing/,
  },
  {
    name: "an op that no kind of step is recorded as",
    file: `${sdk}/steps/step-kinds.ts`,
    cut: /(?<=recordedAs: \[)"WaitForEvent"/,
    seenIn: `${sdk}/execution/signature.ts`,
    says: /'waitforevent' is missing/,
  },
];

const text = (file: string): string => readFileSync(inRoot(file), "utf8");

/** The source without what the omission leaves out. */
function planted({ name, file, cut, put = "" }: Omission): string {
  const before = text(file);
  const after = before.replace(cut, put);
  if (after === before) throw new Error(`"${name}" takes nothing out of ${file} any more.`);
  return after;
}

const { config } = ts.readConfigFile(inRoot("tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, inRoot("."));
const plainHost = ts.createCompilerHost(options);
const parsed = new Map<string, ts.SourceFile | undefined>();
let previous: ts.Program | undefined;

/** What the compiler says of some files when one source were another; all else is parsed once for all. */
function complaints(files: readonly string[], changed?: { readonly file: string; readonly text: string }): string {
  const program = ts.createProgram(
    files.map(inRoot),
    options,
    {
      ...plainHost,
      getSourceFile: (name, version) => {
        if (changed && name === inRoot(changed.file)) return ts.createSourceFile(name, changed.text, version);
        if (!parsed.has(name)) parsed.set(name, plainHost.getSourceFile(name, version));
        return parsed.get(name);
      },
    },
    previous,
  );
  previous = program;
  return files
    .flatMap((file) => program.getSemanticDiagnostics(program.getSourceFile(inRoot(file))))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))
    .join("\n");
}

test("nothing is left out of the sources as they are", () => {
  expect(complaints([...new Set(omissions.map(({ file, seenIn = file }) => seenIn))])).toBe("");
});

test.each(omissions)("$name does not compile", (omission) => {
  const { file, seenIn = file, says } = omission;
  expect(complaints([seenIn], { file, text: planted(omission) })).toMatch(says);
});
