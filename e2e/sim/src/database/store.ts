import { StoreOnTables } from "@holdfast/store";

import type { Dice } from "../random.ts";
import type { Actor } from "../scheduler.ts";
import { DatabaseLink } from "./database-link.ts";
import type { StoreConditions } from "./store-conditions.ts";
import type { Tables } from "./tables.ts";
import type { WakeChannel } from "./wake-channel.ts";

const SECRET = "what the gateways of the simulation share";

/** One gateway's store: the memory store, behind a line that is slow and fails. */
export class ModelStore extends StoreOnTables {
  constructor(tables: Tables, wakeChannel: WakeChannel, actor: Actor, dice: Dice, conditions: () => StoreConditions) {
    super(tables, new DatabaseLink(tables, wakeChannel, actor, dice, conditions), SECRET);
  }
}
