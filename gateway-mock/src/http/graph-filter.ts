/** Reads which runs of graphs a list is to have. */
import { HoldfastError } from "@holdfast/core";
import type { RunFilter, Store } from "@holdfast/store";
import type { Context } from "hono";
import { noGraph } from "../graphs/graph-errors.ts";
import { tenantOf } from "./graphs-fields.ts";

/** @throws HoldfastError `BODY_INVALID`, and `NOT_FOUND` for a graph that there is not */
export async function graphFilterIn(
  c: Context,
  store: Pick<Store, "getGraph">,
): Promise<Pick<RunFilter, "graphUid" | "test">> {
  const { graph: id, test } = c.req.query();
  if (test !== undefined && test !== "1" && test !== "0")
    throw new HoldfastError("BODY_INVALID", "`test` must be 1 or 0.");
  const marked = test === undefined ? {} : { test: test === "1" };
  if (id === undefined) return marked;
  const name = { environment: c.get("environment") as string, tenant: tenantOf(c.req.query("tenant")) ?? "", id };
  const graph = await store.getGraph(name);
  if (!graph) throw noGraph(name);
  return { ...marked, graphUid: graph.uid };
}
