/** `npm run simulate`: reads the arguments, plays schedules, prints what broke and how to repeat it. */
import { ADVERSARIES, type Against, isAdversary } from "./adversaries.ts";
import { FAULT_KINDS } from "./faults.ts";
import { runSchedule, type ScheduleResult } from "./schedule.ts";

/**
 * `pnpm simulate`: schedules of seeds, from `--from` on, until one breaks an invariant.
 *
 *     --seeds N      how many (default 1000)
 *     --from N       the first seed (default: from the clock)
 *     --seed N       this one alone
 *     --trace        print what happens, line by line
 *     --keep-going   report every failing seed instead of stopping at the first
 *     --json         one line at the end, for programs
 *     --list A,B     exactly these seeds
 *     --with A,B     these adversaries (`adversaries.ts`) in every schedule
 *     --only A,B     these and no others; `--only none`
 */
interface Arguments {
  readonly seeds: readonly number[] | null;
  readonly from: number;
  readonly count: number;
  readonly trace: boolean;
  readonly keepGoing: boolean;
  readonly json: boolean;
  readonly against: Against;
}

function readArguments(args: readonly string[]): Arguments {
  const value = (name: string): string | undefined => {
    const at = args.indexOf(name);
    return at < 0 ? undefined : args[at + 1];
  };
  const list = value("--list") ?? value("--seed");
  const seeds =
    list === undefined
      ? null
      : list
          .split(",")
          .filter((text) => text !== "")
          .map(Number);
  const count = Number(value("--seeds") ?? 1000);
  const from = Number(value("--from") ?? Math.floor(Date.now() / 1000));
  if ([count, from, ...(seeds ?? [])].some((number) => !Number.isSafeInteger(number) || number < 0)) {
    throw new Error("--seeds, --from, --seed and --list take integers.");
  }
  const has = (name: string): boolean => args.includes(name);
  const only = value("--only");
  const given = (only ?? value("--with") ?? "").split(",").filter((name) => name !== "" && name !== "none");
  const names = new Set(given.filter(isAdversary));
  if (names.size !== given.length)
    throw new Error(`--with and --only know ${Object.keys(ADVERSARIES).join(", ")}, and --only knows none.`);
  const against: Against = only === undefined ? { type: "drawn", and: names } : { type: "only", these: names };
  return { against, seeds, from, count, trace: has("--trace"), keepGoing: has("--keep-going"), json: has("--json") };
}

function report({ seed, violation, faults, adversaries, lines }: ScheduleResult, { trace }: Arguments): void {
  if (trace) for (const line of lines) console.log(line);
  if (!violation) return;
  console.log(`seed ${seed}: ${violation.message}`);
  const timed = faults.timed.map(({ atMs, kind }) => `${kind} at ${Math.round(atMs)}`).join(", ");
  if (trace)
    console.log(
      `faults: ${timed || "none"}; network ${JSON.stringify(faults.network)}; store ${JSON.stringify(faults.store)}`,
    );
  console.log(`reproduce: pnpm simulate --seed ${seed} --only ${adversaries.join(",") || "none"} --trace`);
}

async function main(): Promise<void> {
  const given = readArguments(process.argv.slice(2));
  const { seeds, from, count, trace, keepGoing, json, against } = given;
  const all = seeds ?? Array.from({ length: count }, (_, i) => from + i);
  const startedMs = performance.now();
  const failed: { seed: number; id: string; message: string }[] = [];
  const totals = {
    schedules: 0,
    virtualMs: 0,
    happenings: 0,
    effects: 0,
    zombies: 0,
    redone: 0,
    ahead: 0,
    asked: 0,
    runs: 0,
    faults: 0,
  };
  const digests: string[] = [];
  const adversaries: (readonly string[])[] = [];
  for (const seed of all) {
    const result = await runSchedule(seed, { trace, against });
    totals.schedules += 1;
    totals.virtualMs += result.virtualMs;
    totals.happenings += result.happenings;
    totals.effects += result.effects;
    totals.zombies += result.zombies;
    totals.redone += result.redone;
    totals.ahead += result.lookedAhead;
    totals.asked += result.askedAhead;
    totals.runs += result.runs;
    totals.faults += result.faults.timed.length;
    if (json) digests.push(result.digest);
    if (json) adversaries.push(result.adversaries);
    if (!json) report(result, given);
    const { violation } = result;
    if (!violation) continue;
    failed.push({ seed, id: violation.id, message: violation.message });
    if (!keepGoing) break;
  }
  const tookMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage();
  const cpuMs = Math.round((user + system) / 1000);
  if (json) console.log(JSON.stringify({ ...totals, tookMs: Math.round(tookMs), cpuMs, digests, adversaries, failed }));
  else {
    const rate = (ms: number): string => ((totals.schedules / ms) * 1000).toFixed(0);
    console.log(
      `${totals.schedules} schedules, ${failed.length} failed; ${rate(tookMs)} schedules per second, ${rate(cpuMs)} per CPU second; ` +
        `${totals.runs} runs, ${totals.effects} steps begun (${totals.zombies} by dispatches that no longer counted, ${totals.redone} after their result was stored), ${totals.ahead} results given ahead of their storage (${totals.asked} steps asked for then), ${totals.faults} faults of ${FAULT_KINDS.length} kinds, ` +
        `${(totals.virtualMs / 3_600_000).toFixed(1)} hours in ${(tookMs / 1000).toFixed(1)} s, ${totals.happenings} happenings`,
    );
  }
  if (failed.length > 0) process.exitCode = 1;
}

await main();
