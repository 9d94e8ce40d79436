import { StoreOnTables } from "@holdfast/store";

import type { Dice } from "../random.ts";
import type { Actor } from "../scheduler.ts";
import { Line } from "./line.ts";
import type { StoreMood } from "./mood.ts";
import type { Notices } from "./notices.ts";
import type { Tables } from "./tables.ts";

const SECRET = "what the gateways of the simulation share";

/** One gateway's store: the memory store, behind a line that is slow and fails. */
export class ModelStore extends StoreOnTables {
  constructor(tables: Tables, notices: Notices, actor: Actor, dice: Dice, mood: () => StoreMood) {
    super(tables, new Line(tables, notices, actor, dice, mood), SECRET);
  }
}
