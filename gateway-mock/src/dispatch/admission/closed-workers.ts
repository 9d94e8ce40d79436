/** Workers that are connected and take no new work: why, as far as it is known, and in words. Pure. */
import { servesQueue } from "@holdfast/protocol";
import { environmentOf, type ListedConnection } from "@holdfast/store";
import { plural } from "./waiting-text.ts";

/** How many workers are given nothing, by what keeps them from it. */
export interface ClosedWorkers {
  /** People drained them. */
  readonly drained: number;
  /** Their main threads are blocked: they have paused themselves until these respond again. */
  readonly blocked: number;
  /** They have paused themselves otherwise, mostly since they close. */
  readonly paused: number;
}

/** What may run something, if it takes work: a version of an app, as connections name it, and the queue there. */
interface Wanted {
  readonly name: string;
  readonly queue: string;
}

export interface ClosedParts {
  readonly isDrained: (environment: string, instanceId: string) => boolean;
  /** It has said that its main thread takes nothing; false also of a worker of another gateway. */
  readonly isMainPaused: (connectionId: string) => boolean;
}

/** Counts the processes behind connections that could have run something, none of which takes new work. */
export function closedWorkers(
  connections: readonly ListedConnection[],
  wanted: readonly Wanted[],
  { isDrained, isMainPaused }: ClosedParts,
): ClosedWorkers {
  const whys = new Map<string, keyof ClosedWorkers>();
  for (const { id, appIds, instanceId, versions, queues, mark } of connections) {
    if (!wanted.some(({ name, queue }) => versions.includes(name) && servesQueue(queues, queue))) continue;
    const isBlocked = mark === "BLOCKED" || isMainPaused(id);
    const drained = isDrained(environmentOf(appIds[0] ?? ""), instanceId);
    whys.set(instanceId, drained ? "drained" : isBlocked ? "blocked" : "paused");
  }
  const counts = { drained: 0, blocked: 0, paused: 0 };
  for (const why of whys.values()) counts[why] += 1;
  return counts;
}

/** Of an app of which no worker that may run something takes new work. */
export function closedText(appId: string, { drained, blocked, paused }: ClosedWorkers): string {
  const workers = `workers of the app "${appId}" that may run it`;
  const total = drained + blocked + paused;
  if (total === 0) return `All ${workers} take no new work.`;
  if (drained === total) return `All ${workers} are drained.`;
  if (blocked === total) {
    const until = "they take no new work until these respond again";
    return `The main threads of all ${workers} are blocked: ${until}.`;
  }
  if (paused === total) return `All ${workers} have paused themselves, as workers do that close or are blocked.`;
  const parts = [
    ...(blocked === 0 ? [] : [`${plural(blocked, "has", "have")} a blocked main thread`]),
    ...(drained === 0 ? [] : [`${plural(drained, "is", "are")} drained`]),
    ...(paused === 0 ? [] : [`${plural(paused, "has", "have")} paused ${paused === 1 ? "itself" : "themselves"}`]),
  ];
  return `All ${workers} take no new work: ${parts.join(", ")}.`;
}
