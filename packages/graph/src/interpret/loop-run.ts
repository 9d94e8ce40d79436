/** The iterations of one loop: so many at once, each a pass through the body with an item of its own. */
import { describeValue, HoldfastError } from "@holdfast/core";
import { GRAPH_LIMITS } from "../definition/limits.ts";
import { kindOf } from "../json/kind-of.ts";
import { fillTemplates } from "../templates/fill-template.ts";
import { leastSteps } from "./least-steps.ts";
import { type NodeError, nodeErrorOf, type Outcome } from "./outcome.ts";
import type { PlanNode, PlanScope } from "./plan.ts";
import type { RunContext, Scope } from "./run-types.ts";
import type { Bits } from "./visible.ts";

export interface LoopOptions {
  readonly context: RunContext;
  readonly scope: Scope;
  readonly node: PlanNode;
  readonly bits: Bits;
  readonly end: (outcome: Outcome, thrown?: unknown) => void;
}

export class LoopRun {
  readonly #options: LoopOptions;
  readonly #body: PlanScope;
  readonly #targets: readonly PlanNode[];
  readonly #running = new Set<Scope>();
  readonly #results: unknown[] = [];
  #items: readonly unknown[] = [];
  #next = 0;
  #ended = 0;
  #isStarting = false;
  #isOver = false;

  constructor(options: LoopOptions) {
    this.#options = options;
    const { plan } = options.scope.options;
    this.#body = plan.bodies.get(options.node.index) ?? { nodes: [], back: [] };
    this.#targets = options.node.out.flatMap(({ handle, to }) => (handle === "loop" ? [to] : []));
  }

  /** @throws HoldfastError when what it is to go through is no list, or more than a run can do */
  begin(): void {
    const { scope, bits, node } = this.#options;
    this.#items = checkedItems(node, fillTemplates(node.node.config?.items, scope.lookup(bits)));
    checkSteps(node, this.#items.length, leastSteps(node));
    this.#startMore();
  }

  /** Iterations that end at once would otherwise nest. */
  #startMore(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    const atOnce = Number(this.#options.node.node.config?.concurrency ?? 1);
    while (
      !this.#isOver &&
      !this.#options.scope.isOver &&
      this.#next < this.#items.length &&
      this.#running.size < atOnce
    ) {
      const index = this.#next;
      this.#next += 1;
      this.#startOne(index);
    }
    this.#isStarting = false;
    if (this.#isOver || this.#ended < this.#items.length) return;
    this.#isOver = true;
    this.#options.end({ ok: true, output: this.#results, handle: "done" });
  }

  #startOne(index: number): void {
    const { context, scope: outer, node, bits } = this.#options;
    const { plan, values, path, iteration, prefix } = outer.options;
    const { item = "item", index: indexName = "index" } = node.node.config ?? {};
    const own = new Map<string, unknown>([
      [String(item), this.#items[index]],
      [String(indexName), index],
    ]);
    const scope: Scope = context.newScope({
      plan,
      outer,
      scope: this.#body,
      bits,
      values: { outer: values, own, outputs: new Map() },
      path,
      iteration: [...iteration, index],
      prefix,
      onEnd: () => this.#iterationEnded(scope, index),
      onFailure: (error, thrown) => this.#fail(error, thrown),
    });
    this.#running.add(scope);
    scope.enter(this.#targets);
  }

  #iterationEnded(scope: Scope, index: number): void {
    this.#running.delete(scope);
    if (this.#isOver) return;
    try {
      this.#results[index] = this.#collected(scope);
    } catch (thrown) {
      return this.#fail(nodeErrorOf(this.#options.node.node.id, thrown), thrown);
    }
    this.#ended += 1;
    this.#startMore();
  }

  #collected(scope: Scope): unknown {
    const { collect } = this.#options.node.node.config ?? {};
    if (collect !== undefined) {
      return fillTemplates(collect, scope.lookup(scope.seenAtEnd()), this.#options.context.budget);
    }
    const last = this.#body.back.find(({ to, handle }) => scope.handleOf(to) === handle);
    return last === undefined ? null : (scope.options.values.outputs.get(last.to.index) ?? null);
  }

  /** One iteration has failed: the others are given up. */
  #fail(error: NodeError, thrown: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const scope of this.#running) scope.abandon();
    this.#options.end({ ok: false, error }, thrown);
  }
}

function checkedItems({ node: { id, config } }: PlanNode, items: unknown): readonly unknown[] {
  if (!Array.isArray(items)) {
    const message = `\`items\` of the loop "${id}" must come to a list; ${describeValue(config?.items)} came to ${kindOf(items)}.`;
    throw new HoldfastError("GRAPH_CONFIG_INVALID", message);
  }
  if (items.length <= GRAPH_LIMITS.maxLoopItems) return items;
  const limit = `${items.length} items; the limit is ${GRAPH_LIMITS.maxLoopItems}`;
  throw new HoldfastError("GRAPH_VALUE_TOO_LARGE", `The loop "${id}" has ${limit}.`);
}

/** What cannot fit is refused before the first effect, and not after a thousand. */
function checkSteps({ node }: PlanNode, items: number, each: number): void {
  const { maxRunSteps } = GRAPH_LIMITS;
  if (items * each <= maxRunSteps) return;
  const most = `it can go through ${Math.floor(maxRunSteps / each)} at most`;
  const count = `${items} items, and each takes at least ${each} step${each === 1 ? "" : "s"}`;
  const fix = "Give it batches as items, each for a `function` node, whose run has steps of its own.";
  const message = `The loop "${node.id}" has ${count}; a run has ${maxRunSteps} steps, so ${most}. ${fix}`;
  throw new HoldfastError("GRAPH_VALUE_TOO_LARGE", message);
}
