/** What the blocks of docs/busy-code.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "shop" });
