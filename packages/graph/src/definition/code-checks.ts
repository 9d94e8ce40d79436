/**
 * Code of `javascript` nodes: whether it can be read, as the sandbox would read it. It is never run. Conditions are CEL,
 * and templates compute nothing, so there is no other code in a graph.
 */
import { messageOf } from "@holdfast/core";
import { type Options, parse } from "acorn";
import { isObject, own } from "../json/json-size.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import { builtIn } from "./node-types.ts";
import type { Problems } from "./problems.ts";
import type { ReadGraph, ReadNode } from "./read-graph.ts";

/** A text of code, and where it stands. */
interface Code {
  readonly node: ReadNode;
  readonly at: string;
  readonly source: string;
}

/** Where code cannot be read, and why. Both count from 1, as editors do. */
interface SyntaxFlaw {
  readonly line: number;
  readonly column: number;
  readonly what: string;
}

export function checkCode({ nodes }: ReadGraph, problems: Problems): void {
  const codes = nodes.flatMap(codesOf);
  const chars = codes.reduce((sum, { source }) => sum + source.length, 0);
  if (chars > GRAPH_LIMITS.maxCodeChars) {
    const message = `The code of all nodes has ${chars} characters; the limit is ${GRAPH_LIMITS.maxCodeChars}.`;
    problems.add({ code: "TOO_LARGE", message, fix: "Move a part of it into a graph of its own (`subgraph`)." });
    return;
  }
  for (const { node, at, source } of codes) {
    const flaw = syntaxFlaw(source);
    if (flaw === undefined) continue;
    const { line, column, what } = flaw;
    const whose = at.startsWith("compensate") ? "that undoes" : "of";
    problems.add({
      code: "CODE_INVALID",
      nodeId: node.id,
      path: `nodes[${node.index}].${at}`,
      line,
      column,
      message: `The code ${whose} node "${node.id}" is no JavaScript: ${what} (line ${line}, column ${column}).`,
      fix: "Correct the code there; it is the body of an async function of `ctx` and `console`, in strict mode.",
    });
  }
}

function codesOf(node: ReadNode): Code[] {
  const undo = own(node.compensate, "config");
  return [
    ...codesIn(node, "config", node.type, node.config),
    ...codesIn(node, "compensate.config", own(node.compensate, "type"), undo),
  ];
}

function codesIn(node: ReadNode, at: string, type: unknown, config: unknown): Code[] {
  if (typeof type !== "string" || !isObject(config)) return [];
  return Object.entries(builtIn(type)?.config ?? {}).flatMap(([field, { type: of }]): Code[] => {
    const source = of.kind === "code" ? own(config, field) : undefined;
    // That there is code at all is checked with the other fields.
    return typeof source === "string" && source.trim() !== "" ? [{ node, at: `${at}.${field}`, source }] : [];
  });
}

const LINES_BEFORE = 1;
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;
const ENDS = "it ends where more is expected, such as a closing bracket";

/** Undefined: it can be read. */
function syntaxFlaw(source: string): SyntaxFlaw | undefined {
  // What the sandbox evaluates (`sandbox/prelude.ts`): names of parameters are taken, `await` is no name.
  const flaw = flawOf(`(async (ctx, console) => {"use strict";\n${source}\n})`, {});
  const lines = source.split(LINE_END);
  if (flaw === undefined || flaw.line <= lines.length) return flaw;
  // A bracket too few or too many shows behind the code only, in what is put around it: read by itself it says where.
  const bare = { allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true };
  const inside = flawOf(`"use strict";\n${source}`, bare) ?? flaw;
  const [line, column] = [lines.length, (lines.at(-1)?.length ?? 0) + 1];
  const isAtEnd = inside.line > line || (inside.line === line && inside.column >= column);
  return isAtEnd ? { line, column, what: ENDS } : inside;
}

function flawOf(text: string, options: Partial<Options>): SyntaxFlaw | undefined {
  try {
    // Newer syntax than the sandbox's engine has fails there, when it runs: what that engine reads is never refused.
    parse(text, { ecmaVersion: "latest", ...options });
    return undefined;
  } catch (error) {
    const at = own(error, "loc");
    const [line, column] = [Number(own(at, "line") ?? 1), Number(own(at, "column") ?? 0)];
    const what = messageOf(error).replace(/ \(\d+:\d+\)$/, "");
    return { line: Math.max(1, line - LINES_BEFORE), column: column + 1, what };
  }
}
