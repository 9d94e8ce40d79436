/**
 * Writes `docs/sdk-options.md` from the types of the SDK's options, their comments and their examples; with `--check` it only
 * reports whether the page is current. The gate `examples` sees to it that each has both, and that the examples compile.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import ts from "typescript";
import { wrapped } from "./docs-errors.ts";
import { optionsOf } from "./examples.mjs";
import { root } from "./workspace.mjs";

const file = new URL("../../../docs/sdk-options.md", import.meta.url);
const MAX_TYPE = 60;

/** In the order in which they are met; the others follow. */
const FIRST = [
  ...["ClientOptions", "FunctionOptions", "EventTrigger", "CronTrigger", "RetryOptions", "ConcurrencyOption"],
  ...["CancelOption", "IsolateOption", "StepIdWithOptions", "StepRunOptions", "WaitForEventOptions"],
  ...["WaitForSignalOptions", "InvokeOptions", "IsolatedOptions", "ConnectOptions", "InvocationOptions"],
];

type Option = ReturnType<typeof optionsOf>[number];

export function sdkPage(options: readonly Option[]): string {
  const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const names = [...new Set(options.map(({ name }) => name))].sort((a, b) => rank(a) - rank(b));
  const sections = names.flatMap((name) => {
    const own = options.filter((option) => option.name === name);
    const about = own[0] === undefined ? "" : commentOf(own[0].member.parent);
    return [
      "",
      `## ${name}`,
      "",
      ...(about === "" ? [] : [...wrapped(about), ""]),
      "| option | type | | for example |",
      "|---|---|---|---|",
      ...own.map(rowOf),
    ];
  });
  return [
    "<!-- Generated from the types of packages/sdk by `npm run docs:sdk`; change them there. -->",
    "",
    "# Options of the SDK",
    "",
    "Every option that the SDK takes, from its types, with an example that compiles. [Function options](functions.md) and the",
    "[README](../packages/sdk/README.md) say how they work together.",
    ...sections,
    "",
  ].join("\n");
}

function rowOf({ option, member, says, example }: Option): string {
  const optional = member.questionToken === undefined ? "" : "?";
  return `| \`${option}${optional}\` | ${code(typeText(member))} | ${cell(says)} | ${code(example)} |`;
}

/** The type in one line, without comments; cut where it is long. */
function typeText(member: ts.PropertySignature): string {
  const printed = member.type
    ? ts.createPrinter({ removeComments: true }).printNode(ts.EmitHint.Unspecified, member.type, member.getSourceFile())
    : "";
  const text = printed.replace(/\s+/g, " ").replace(/^\| /, "");
  return text.length <= MAX_TYPE ? text : `${text.slice(0, MAX_TYPE)} …`;
}

function commentOf(node: ts.Node): string {
  const owner = ts.isTypeLiteralNode(node) ? node.parent : node;
  const [comment] = ts.getJSDocCommentsAndTags(owner).filter(ts.isJSDoc);
  return ts.getTextOfJSDocComment(comment?.comment)?.replace(/\s+/g, " ").trim() ?? "";
}

const cell = (text: string): string => text.replace(/\s+/g, " ").replaceAll("|", "\\|").trim();

function code(text: string): string {
  const line = cell(text);
  if (line === "") return "";
  return line.includes("`") ? `\`\` ${line} \`\`` : `\`${line}\``;
}

function main(): void {
  const page = sdkPage(optionsOf(root));
  if (!process.argv.includes("--check")) writeFileSync(file, page);
  else if (!existsSync(file) || readFileSync(file, "utf8") !== page) {
    console.error("docs/sdk-options.md does not agree with the types of the SDK: run `npm run docs:sdk`.");
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-sdk.ts")) main();
