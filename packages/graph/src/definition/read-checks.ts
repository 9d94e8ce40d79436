/** What nodes read: templates and conditions may name only what is on a way to their node. */
import { compileCtxExpression } from "@holdfast/engine";
import { isObject, own } from "../json/json-size.ts";
import { templateReads } from "../templates/reads.ts";
import type { Layout, Scope } from "./layout.ts";
import { outputNameOf } from "./node-checks.ts";
import { builtIn } from "./node-types.ts";
import type { Problems } from "./problems.ts";
import type { ReadGraph, ReadNode } from "./read-graph.ts";

/** What may be read at a node: the nodes before it as bits, the loops around it. */
interface Sight {
  readonly nodes: Uint32Array;
  readonly scope: Scope;
}

/** Without a layout, and in nodes that nothing leads to, only whether templates can be read. */
export function checkReads(graph: ReadGraph, layout: Layout | undefined, problems: Problems): void {
  const world = layout && new World(graph, layout);
  for (const node of graph.nodes) {
    const sight = world?.sightOf(node);
    const check = (where: string, value: unknown, seen: Sight | undefined, extra: readonly string[] = []): void => {
      const { reads, errors } = templateReads(value);
      const place = (at: string) => ({ nodeId: node.id, path: `nodes[${node.index}].${where}${at}` });
      for (const { at, message } of errors) {
        const text = `A template of node "${node.id}" cannot be read: ${message}.`;
        problems.add({ code: "TEMPLATE_INVALID", ...place(at), message: text, fix: "Write `{{ctx.name.field}}`." });
      }
      if (seen === undefined || world === undefined) return;
      for (const { at, name, text } of reads) {
        if (name === undefined || !extra.includes(name))
          world.report({ node, name, text, seen, place: place(at) }, problems);
      }
    };
    for (const [key, value] of Object.entries(node.config)) {
      const fields = builtIn(node.type)?.config ?? {};
      const kind = Object.hasOwn(fields, key) ? fields[key]?.type.kind : undefined;
      if (kind === "code" || kind === "waitExpression" || kind === "branches") continue;
      const inside = sight && node.type === "loop" && key === "collect" ? world?.sightAfter(node) : sight;
      check(`config.${key}`, value, inside);
    }
    const [undo, undoes] = [own(node.compensate, "config"), own(node.compensate, "type")];
    for (const [key, value] of isObject(undo) ? Object.entries(undo) : []) {
      if (undoes === "javascript" && key === "code") continue;
      check(`compensate.config.${key}`, value, sight, ["output", "error"]);
    }
    if (world && sight && node.type === "condition") checkBranches(node, world, sight, problems);
  }
}

function checkBranches(node: ReadNode, world: World, seen: Sight, problems: Problems): void {
  const branches = own(node.config, "branches");
  for (const [index, branch] of (Array.isArray(branches) ? branches : []).entries()) {
    const source = own(branch, "if");
    for (const name of typeof source === "string" ? namesOf(source) : []) {
      const place = { nodeId: node.id, path: `nodes[${node.index}].config.branches[${index}].if` };
      world.report({ node, name, text: `ctx.${name}`, seen, place }, problems);
    }
  }
}

/** Of an expression that cannot be used: none, since that was reported. Reading `ctx` as a whole reads what there is. */
function namesOf(source: string): string[] {
  try {
    return compileCtxExpression(source).names.flatMap((name) => name ?? []);
  } catch {
    return [];
  }
}

interface Read {
  readonly node: ReadNode;
  readonly name: string | undefined;
  readonly text: string;
  readonly seen: Sight;
  readonly place: { readonly nodeId: string; readonly path: string };
}

class World {
  readonly #layout: Layout;
  readonly #names: ReadonlyMap<string, ReadNode>;
  readonly #byId: ReadonlyMap<string, ReadNode>;
  readonly #before = new Map<string, Uint32Array>();
  /** Of each loop: all nodes of its body, and of the bodies within. */
  readonly #bodies = new Map<string, Uint32Array>();
  readonly #unread: ReadonlySet<string>;

  constructor(graph: ReadGraph, layout: Layout) {
    this.#layout = layout;
    const nodes = [...graph.unread, ...graph.nodes];
    this.#names = new Map(nodes.map((node) => [outputNameOf(node), node]));
    this.#byId = new Map(nodes.map((node) => [node.id, node]));
    this.#unread = new Set(graph.unread.map(({ id }) => id));
    const words = Math.ceil(Math.max(0, ...nodes.map(({ index }) => index)) / 32 + 1);
    const incoming = new Map<string, ReadGraph["edges"][number][]>();
    for (const edge of graph.edges) {
      if (layout.back.has(edge.index)) continue;
      const list = incoming.get(edge.to);
      if (list) list.push(edge);
      else incoming.set(edge.to, [edge]);
    }
    for (const id of layout.order) {
      const bits = new Uint32Array(words);
      for (const { from, handle } of incoming.get(id) ?? []) {
        for (const [at, word] of (this.#before.get(from) ?? []).entries()) bits[at] = (bits[at] ?? 0) | word;
        // The body of a loop does not see what the loop gives.
        const loops = this.#byId.get(from)?.type === "loop" && handle === "loop";
        if (!loops) setBit(bits, this.#byId.get(from)?.index ?? 0);
      }
      this.#before.set(id, bits);
      this.#addToBodies(id, words);
    }
  }

  #addToBodies(id: string, words: number): void {
    const scope = this.#layout.scopes.get(id);
    if (scope?.loop === undefined) return;
    const bits = this.#bodies.get(scope.loop) ?? new Uint32Array(words);
    setBit(bits, this.#byId.get(id)?.index ?? 0);
    this.#bodies.set(scope.loop, bits);
  }

  /** Undefined for nodes that cannot be reached, or are in circles. */
  sightOf(node: ReadNode): Sight | undefined {
    const [nodes, scope] = [this.#before.get(node.id), this.#layout.scopes.get(node.id)];
    return nodes && scope && this.#byId.get(node.id) === node ? { nodes, scope } : undefined;
  }

  /** What is seen at the end of an iteration. */
  sightAfter(loop: ReadNode): Sight {
    const before = this.#before.get(loop.id) ?? new Uint32Array(0);
    const body = this.#bodies.get(loop.id);
    const nodes = before.map((word, at) => word | (body?.[at] ?? 0));
    return { nodes, scope: this.#layout.loops.get(loop.id) ?? { depth: 0 } };
  }

  report({ node, name, text, seen, place }: Read, problems: Problems): void {
    if (name === "input" || name === "run" || this.#isOfLoop(name, seen.scope)) return;
    const read = name === undefined ? undefined : this.#names.get(name);
    if (name === undefined || read === undefined) {
      const message = `Node "${node.id}" reads \`${text}\`, and no node has an output of that name.`;
      const fix = "Read `ctx.input`, or `ctx` with the id or `outputVariable` of a node that comes before.";
      problems.add({ code: "READS_UNKNOWN", ...place, message, fix });
    } else if (!hasBit(seen.nodes, read.index)) {
      const message = `Node "${node.id}" reads \`${text}\`, but "${read.id}" is not on a way to it.`;
      const fix = `Connect "${read.id}" so that it comes before "${node.id}": what a node sees must not depend on time.`;
      problems.add({ code: "READS_NO_ANCESTOR", ...place, message, fix });
    }
  }

  #isOfLoop(name: string | undefined, scope: Scope): boolean {
    for (let at: Scope | undefined = scope; at?.loop !== undefined; at = at.parent) {
      // What it calls its items is not known.
      if (this.#unread.has(at.loop)) return true;
      const config = this.#byId.get(at.loop)?.config;
      if (name === (own(config, "item") ?? "item") || name === (own(config, "index") ?? "index")) return true;
    }
    return false;
  }
}

const setBit = (bits: Uint32Array, index: number): void => {
  bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31));
};

const hasBit = (bits: Uint32Array, index: number): boolean => (((bits[index >> 5] ?? 0) >>> (index & 31)) & 1) === 1;
