/** What the blocks of docs/retention.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "site" });
export const look = async (): Promise<string> => "nothing new";
