/** What the blocks of docs/worker-queues.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "models" });
export const handler = (): string => "trained";
export const functions = [app.createFunction({ id: "ask", triggers: { event: "model/asked" } }, handler)];
