/** The store as the engine sees it while faults may happen: the real one, slow or refused where a fault says so. */
import { sleep, type Timers, unreachable } from "@holdfast/core";
import { type Store, StoreError } from "@holdfast/store";
import type { FaultDecision } from "./rules/fault-book.ts";
import { STORE_OPERATIONS, type StoreOperation } from "./rules/fault-kinds.ts";

export interface StoreFaults {
  readonly timers: Timers;
  /** Whether any fault of the store may happen. */
  readonly isReading: () => boolean;
  readonly decide: (operation: StoreOperation) => FaultDecision<"store"> | null;
}

type Method = (...args: unknown[]) => Promise<unknown>;
const REACHED: ReadonlySet<string> = new Set(STORE_OPERATIONS);

/** What people and pages read goes to the store itself. */
export function faultyStore(store: Store, faults: StoreFaults): Store {
  const methods = new Map<PropertyKey, unknown>();
  const methodOf = (name: PropertyKey, value: (...args: never[]) => unknown): unknown => {
    const own = value.bind(store) as Method;
    if (typeof name !== "string" || !REACHED.has(name)) return own;
    return (...args: unknown[]) =>
      faults.isReading() ? through(name as StoreOperation, own, args, faults) : own(...args);
  };
  return new Proxy(store, {
    get: (target, name) => {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const made = methodOf(name, value as (...args: never[]) => unknown);
      methods.set(name, made);
      return made;
    },
  });
}

async function through(
  operation: StoreOperation,
  method: Method,
  args: unknown[],
  { decide, timers }: StoreFaults,
): Promise<unknown> {
  const fault = decide(operation);
  if (fault === null) return method(...args);
  const { rule, chance } = fault;
  switch (rule.what) {
    case "slow-database":
      await sleep(timers, rule.delayMs + chance * rule.jitterMs);
      return method(...args);
    case "refuse-database":
      throw new StoreError("unavailable", `${SAID} (${operation}, ${fault.id}). Nothing was changed.`);
    case "lose-answer":
      await method(...args);
      throw new StoreError("unavailable", `${SAID} (${operation}, ${fault.id}). Whether it was done is not known.`);
    default:
      return unreachable(rule);
  }
}

const SAID = "A fault that was asked for has refused the database";
