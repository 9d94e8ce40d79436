/** Reads which runs of graphs a list, or a bulk job, is to have. */
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
  const { graph, tenant, test } = c.req.query();
  if (test !== undefined && test !== "1" && test !== "0")
    throw new HoldfastError("BODY_INVALID", "`test` must be 1 or 0.");
  const marked = test === undefined ? {} : { test: test === "1" };
  return { ...marked, ...(await graphNamed(store, c.get("environment"), { graph, tenant })) };
}

/**
 * The graph that `graph` and `tenant` name; none where `graph` is left out.
 * @throws HoldfastError `BODY_INVALID`, and `NOT_FOUND` for a graph that there is not
 */
export async function graphNamed(
  store: Pick<Store, "getGraph">,
  environment: string,
  { graph: id, tenant }: { readonly graph: string | undefined; readonly tenant: unknown },
): Promise<Pick<RunFilter, "graphUid">> {
  const owner = tenantOf(tenant);
  if (id === undefined && owner === undefined) return {};
  if (id === undefined) throw new HoldfastError("BODY_INVALID", "`tenant` says whose `graph` it is; name that, too.");
  const name = { environment, tenant: owner ?? "", id };
  const found = await store.getGraph(name);
  if (!found) throw noGraph(name);
  return { graphUid: found.uid };
}
