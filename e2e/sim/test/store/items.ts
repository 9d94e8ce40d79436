import type {
  FlowRule,
  IntakeItem,
  IntakeRun,
  Lane,
  LogKind,
  LogRow,
  NewJob,
  NewWait,
  WindowEntry,
} from "@holdfast/store";

import type { Dice } from "../../src/random.ts";
import type { Pair } from "./pair.ts";

/** Two lines, as those by which waits are found. */
export const MATCHES = [`["a"]\nx`, `["a"]\ny`, `["b","c"]\nx`];
export const FUNCTIONS = ["f0", "f1", "lim", "lim2"] as const;
const EVENTS = ["e0", "e1", "e2"] as const;

/** Random parts of calls. */
export class Items {
  readonly #pair: Pair;
  readonly #dice: Dice;
  /** Few at a time, so that their jobs meet. */
  readonly functions: readonly string[];
  #count = 0;

  constructor(pair: Pair, dice: Dice) {
    this.#pair = pair;
    this.#dice = dice;
    this.functions = dice.pick([FUNCTIONS, FUNCTIONS, ["f0"], ["lim"], ["lim2"], ["lim", "lim2"]]);
  }

  id(kind: string): string {
    this.#count += 1;
    return `${kind}${String(this.#count).padStart(4, "0")}`;
  }

  row(kind: LogKind, key = "", more: Partial<LogRow> = {}): LogRow {
    return { kind, key, attempt: 0, iteration: 0, dataJson: JSON.stringify({ n: this.#dice.between(0, 9) }), ...more };
  }

  job(runId: string, functionId: string, mayLease = true): NewJob {
    const dice = this.#dice;
    const kind = dice.pick(["pass", "pass", "step", "timer"] as const);
    const base = { id: this.id("j"), runId, kind, attempt: dice.between(0, 1), iteration: 0 };
    const key = kind === "pass" ? "" : dice.pick(["a", "b"]);
    if (kind === "timer") return { ...base, key, functionId: "", delayMs: this.#pair.alone(dice.between(0, 3000)) };
    const priority = dice.pick([0, 0, 0, 1, -1, 300]);
    const limited = functionId.startsWith("lim");
    if (mayLease && !limited && dice.chance(0.4)) return { ...base, key, functionId, priority, lease: this.lease() };
    const lane = limited ? this.#lane(functionId) : null;
    const atMs = this.#pair.alone(dice.pick([0, 0, 50, 2000]));
    const notBefore = dice.chance(0.15) ? { notBeforeMs: this.#pair.nowMs + this.#pair.alone(1000) } : {};
    return { ...base, key, functionId, priority, ...(atMs > 0 ? { delayMs: atMs } : {}), lane, ...notBefore };
  }

  lease(): NonNullable<NewJob["lease"]> {
    return { gatewayId: this.#dice.pick(["g1", "g2"]), leaseMs: this.#pair.alone(this.#dice.pick([0, 500, 4000])) };
  }

  run(gated: boolean): IntakeRun {
    const dice = this.#dice;
    const id = this.id("r");
    const functionId = dice.pick(this.functions);
    const flowRules = gated && dice.chance(0.4) ? [this.#flowRule(functionId)] : [];
    const jobs = [this.job(id, functionId, flowRules.length === 0)];
    if (dice.chance(0.2)) jobs.push(this.job(id, functionId, false));
    const deadlineMs = dice.chance(0.2) ? { deadlineMs: this.#pair.nowMs + 1000 } : {};
    const about = { appId: "app", appVersion: "1", eventId: dice.pick(["", this.#count.toString()]), eventName: "e0" };
    return {
      run: { id, functionId, ...about, ...deadlineMs },
      log: [this.row("RUN_CREATED"), this.row("DISPATCHED")],
      jobs,
      ...(dice.chance(0.3) ? { waits: [this.wait(id, "cancel:0")] } : {}),
      ...(flowRules.length > 0 ? { flowRules } : {}),
    };
  }

  wait(runId: string, key: string): NewWait {
    const dice = this.#dice;
    const kind = key.startsWith("cancel") ? "cancel" : dice.pick(["event", "signal", "invoke"] as const);
    const name = kind === "signal" ? dice.pick(["s0", "s1"]) : kind === "invoke" ? "r0001" : dice.pick(EVENTS);
    const expiry = dice.pick([{}, { expiresInMs: null }, { expiresInMs: 0 }, { expiresInMs: 2000 }]);
    const conflict = kind === "signal" && dice.chance(0.4) ? { conflict: "replace" as const } : {};
    const condition = dice.chance(0.3) ? { expression: "true" } : {};
    const match = dice.chance(0.4) ? { match: dice.pick(MATCHES) } : {};
    return { runId, key, kind, name, ...expiry, ...conflict, ...condition, ...match };
  }

  item(): IntakeItem {
    const dice = this.#dice;
    const known = [...this.#pair.model.tables.events.keys()];
    const id = known.length > 0 && dice.chance(0.04) ? dice.pick(known) : this.id("v");
    const idempotencyKey = dice.pick([null, null, "k0", "k1"]);
    const name = dice.pick(EVENTS);
    const event = { id, name, idempotencyKey, tsMs: this.#pair.nowMs, payloadJson: JSON.stringify({ id, name }) };
    const lease = dice.chance(0.4) ? { lease: this.lease() } : {};
    if (dice.chance(0.1)) return { event: { ...event, idempotencyKey: null }, runs: [], ifAwaited: true, ...lease };
    const runs = Array.from({ length: dice.between(0, 2) }, () => this.run(true));
    const windows = dice.chance(0.3) ? { windows: [this.#window()] } : {};
    return { event, runs, ...windows, ...lease };
  }

  #lane(functionId: string): Lane {
    const dice = this.#dice;
    const key = dice.pick(["x", "y"]);
    const throttle = dice.chance(0.4) ? dice.pick(["t0", "t1"]) : null;
    // The slots of a lane are always the same.
    const slots = functionId === "lim" ? [`all ${functionId}`, `key ${key}`] : ["shared"];
    const id = `${functionId}${key}`;
    return { id: throttle ? `${id}~${throttle}` : id, slots, throttle };
  }

  #flowRule(functionId: string): FlowRule {
    const dice = this.#dice;
    if (dice.chance(0.5)) {
      const name = dice.pick(["rate", "idempotency"] as const);
      return { type: "rate", name, functionId, key: dice.pick(["x", "y"]), limit: dice.between(1, 2), periodMs: 2000 };
    }
    return { type: "single", functionId, key: "", mode: dice.pick(["skip", "cancel"] as const), jobId: this.id("j") };
  }

  #window(): WindowEntry {
    const dice = this.#dice;
    const kind = dice.pick(["debounce", "batch"] as const);
    const jobIds = [this.id("j"), this.id("j")] as const;
    const timeoutMs = kind === "debounce" && dice.chance(0.5) ? 3000 : null;
    const flowRules = dice.chance(0.2) ? [this.#flowRule("f1")].filter(({ type }) => type === "rate") : [];
    return {
      kind,
      functionId: kind,
      key: "",
      jobIds,
      periodMs: this.#pair.alone(1000),
      timeoutMs,
      maxSize: 3,
      flowRules,
    };
  }
}
