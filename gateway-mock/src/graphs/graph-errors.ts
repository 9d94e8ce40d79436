/** Errors about graphs that say more than a sentence: the routes answer with what they carry. */
import { HoldfastError } from "@holdfast/core";
import type { GraphProblem } from "@holdfast/graph/definition";
import type { GraphName } from "@holdfast/store";

const SHOWN = 3;

/** The graph cannot be used; `problems` has everything that is wrong with it. */
export class GraphInvalidError extends HoldfastError {
  readonly problems: readonly GraphProblem[];

  constructor(problems: readonly GraphProblem[]) {
    const first = problems.slice(0, SHOWN).map(({ message, fix }) => `${message} ${fix}`);
    const more = problems.length > SHOWN ? ` There are ${problems.length - SHOWN} more in \`problems\`.` : "";
    super("GRAPH_INVALID", `The graph cannot be used. ${first.join(" ")}${more}`);
    this.problems = problems;
  }
}

/** Another writer was there before; `revision` is that of the draft as it is now, 0 = there is none. */
export class GraphConflictError extends HoldfastError {
  readonly revision: number;

  constructor({ id }: Pick<GraphName, "id">, expected: number, revision: number) {
    const is = revision === 0 ? "there is none" : `it has revision ${revision}`;
    super(
      "GRAPH_CONFLICT",
      `The draft of "${id}" was expected to have revision ${expected}, but ${is}. Read it, and decide again.`,
    );
    this.revision = revision;
  }
}

/** Which versions there are of a graph, by the last one. */
export const hasVersions = (last: number): string =>
  last === 0 ? "has no version yet" : last === 1 ? "has version 1 alone" : `has versions 1 to ${last}`;

export const noGraph = ({ id, tenant }: GraphName): HoldfastError =>
  new HoldfastError("NOT_FOUND", `There is no graph "${id}"${tenant === "" ? "" : ` of the tenant "${tenant}"`}.`);
