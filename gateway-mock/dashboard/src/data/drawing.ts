/** The layout of a graph, made in the browser by what `@holdfast/graph/render` has: it is loaded when a graph is seen. */
import type { drawGraph } from "@holdfast/graph/render";
import { useEffect, useState } from "preact/hooks";
import type { Graph } from "./graphs.ts";

export type Drawing = ReturnType<typeof drawGraph>;
export type Direction = "down" | "right";

/** Null until it is laid out, which takes seconds with a thousand nodes. */
export function useDrawing(graph: Graph, direction: Direction): Drawing | null {
  const [drawn, setDrawn] = useState<{ readonly key: string; readonly drawing: Drawing } | null>(null);
  // The same graph comes as another object with each answer.
  const key = `${direction} ${JSON.stringify([graph.nodes, graph.edges])}`;
  useEffect(() => {
    let isOver = false;
    // Not before what says so is seen.
    const timer = setTimeout(async () => {
      const { drawGraph: layOut } = await import("@holdfast/graph/render");
      if (!isOver) setDrawn({ key, drawing: layOut(graph, { direction }) });
    });
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key]);
  return drawn?.key === key ? drawn.drawing : null;
}
