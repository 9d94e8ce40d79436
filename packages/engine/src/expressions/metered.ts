/** Puts the meter into a compiled expression: every node is charged before it is evaluated. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { COSTS, chargeCall, chargeFields, chargeOperator } from "./costs.ts";
import type { Meter } from "./meter.ts";
import { childrenOf } from "./tree.ts";

/** What the library keeps in a node beside its declared type, once the node is checked. */
interface CheckedParts {
  readonly meta: { readonly alternate?: ASTNode };
  handle?: Handle;
  evaluate: Evaluate;
}

type CheckedNode = ASTNode & CheckedParts;

interface Comprehension {
  readonly iterable: ASTNode;
  readonly init: ASTNode;
  readonly step: ASTNode;
  condition?: (value: unknown) => unknown;
}

type Handle = (...args: unknown[]) => unknown;
type Evaluate = (...args: unknown[]) => unknown;

const OPERATORS = new Set(["==", "!=", "in", "+", "-", "*", "/", "%", "<", "<=", ">", ">="]);
const KEEPERS = new Set(["||", "&&"]);
/** Lists and maps that the expression makes. */
const LITERALS = new Set(["list", "map"]);

/**
 * Makes a checked expression charge its work: each turn of a macro, each call and operator by the size of what it is
 * about to look at. Gives what evaluating it costs at least.
 */
export function meter(root: ASTNode, charged: Meter, source: string): number {
  // The library makes a message of each error, with the place in the source.
  const failure = COSTS.failure + source.length / COSTS.sourceChars;
  const onFailure = (): void => charged.charge(failure);
  const seen = new Set<ASTNode>();
  const visit = (node: ASTNode): number => {
    if (seen.has(node)) return 0;
    seen.add(node);
    const checked = node as CheckedNode;
    // A macro is one once it is checked; the declared types know it as it was written.
    const { op, args }: { readonly op: string; readonly args: unknown } = checked;
    const { alternate } = checked.meta;
    if (alternate) return visit(alternate);
    if (op === "comprehension") return comprehension(checked, args as Comprehension);
    const cost = childrenOf(node).reduce<number>((sum, child) => sum + visit(child), COSTS.node);
    wrapHandle(checked, charged);
    // These keep an error of one side until they have seen the other.
    if (KEEPERS.has(op)) for (const child of childrenOf(node)) around(child as CheckedNode, { onFailure });
    if (LITERALS.has(op)) around(checked, { before: () => charged.charge(1, COSTS.entryBytes * 2) });
    return cost;
  };
  const comprehension = (node: CheckedNode, args: Comprehension): number => {
    const { iterable, init, step, condition } = args;
    const cost = COSTS.node + visit(iterable) + visit(init);
    const turn = COSTS.node + visit(step);
    around(step as CheckedNode, { before: () => charged.charge(turn, COSTS.entryBytes), onFailure });
    // Errors of a turn are kept until the others have had theirs, which must not go on then.
    if (condition) {
      args.condition = (value) => {
        charged.check();
        return condition(value);
      };
    }
    const { handle } = node;
    if (handle) {
      node.handle = (items, ...rest) => {
        if (typeof items === "object" && items !== null && !Array.isArray(items)) chargeFields(charged, items);
        return handle(items, ...rest);
      };
    }
    return cost;
  };
  return visit(root);
}

function wrapHandle(node: CheckedNode, charged: Meter): void {
  const { handle, op } = node;
  if (!handle) return;
  if (OPERATORS.has(op)) {
    node.handle = (left, right, ...rest) => {
      chargeOperator(charged, op, left, right);
      return handle(left, right, ...rest);
    };
  } else if (op === "call" || op === "rcall") {
    const [name] = node.args;
    node.handle = (args, ...rest) => {
      chargeCall(charged, name, args as readonly unknown[]);
      return handle(args, ...rest);
    };
  }
}

interface Around {
  readonly before?: () => void;
  readonly onFailure?: () => void;
}

/** Does something at each evaluation of the node. The library sets `evaluate` when the node is evaluated first. */
function around(node: CheckedNode, { before, onFailure }: Around): void {
  let { evaluate } = node;
  let isChosen = false;
  const charging: Evaluate = (...args) => {
    // The first time it chooses, and evaluates what it has chosen.
    if (isChosen) before?.();
    isChosen = true;
    try {
      return evaluate.apply(node, args);
    } catch (error) {
      onFailure?.();
      throw error;
    }
  };
  Object.defineProperty(node, "evaluate", {
    configurable: true,
    get: () => charging,
    set: (chosen: Evaluate) => {
      evaluate = chosen;
    },
  });
}
