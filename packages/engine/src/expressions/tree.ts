/** Reads the syntax tree of an expression: paths, conjuncts, what it mentions. */
import type { ASTNode } from "@marcbachmann/cel-js";

/** The steps to a field, such as `["event", "data", "id"]`. */
export type Path = readonly string[];

/** `event.data.a` or `event["data"].a`, as the steps to it. */
export function pathOf(node: ASTNode): string[] | null {
  if (node.op === "id") return [node.args];
  if (node.op === "." || node.op === "[]") {
    const [target, field] = node.args;
    const name = typeof field === "string" ? field : field.op === "value" ? field.args : undefined;
    const path = typeof name === "string" ? pathOf(target) : null;
    return path && typeof name === "string" ? [...path, name] : null;
  }
  return null;
}

export function childrenOf(node: ASTNode): ASTNode[] {
  const found: ASTNode[] = [];
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value) collect(entry);
    else if (typeof value === "object" && value !== null && "op" in value) found.push(value as ASTNode);
  };
  collect(node.args);
  return found;
}

/** Whether the name occurs, whatever it means there. */
export function mentions(node: ASTNode, name: string): boolean {
  if (node.op === "id" && node.args === name) return true;
  return childrenOf(node).some((child) => mentions(child, name));
}

/** The parts that all have to be true. */
export function conjunctsOf(node: ASTNode): ASTNode[] {
  return node.op === "&&" ? node.args.flatMap(conjunctsOf) : [node];
}

/** The fields of a variable that are read, each once; undefined where it is read as a whole. */
export function fieldsOf(node: ASTNode, variable: string): (string | undefined)[] {
  const found = new Set<string | undefined>();
  const visit = (each: ASTNode): void => {
    const path = pathOf(each);
    if (path) {
      if (path[0] === variable) found.add(path[1]);
    } else for (const child of childrenOf(each)) visit(child);
  };
  visit(node);
  return [...found];
}

/** The first function among these that is called. */
export function callOf(node: ASTNode, names: ReadonlySet<string>): string | undefined {
  if (node.op === "call" && names.has(node.args[0])) return node.args[0];
  for (const child of childrenOf(node)) {
    const found = callOf(child, names);
    if (found !== undefined) return found;
  }
  return undefined;
}
