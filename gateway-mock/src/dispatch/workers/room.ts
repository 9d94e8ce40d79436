/** How much more the workers of this gateway could run now: of each function, and of functions that share workers. */
import type { RecallWant } from "@holdfast/store";
import type { WorkerGroup } from "./worker-group.ts";

/** Of functions that share workers, directly or by way of others. */
export interface SharedRoom {
  /** Requests that their workers could be given, of all functions together. */
  readonly room: number;
}

export interface FunctionRoom {
  readonly functionId: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly shared: SharedRoom;
}

/** The groups that take work of a function. */
type OpenGroups = (functionId: string) => readonly WorkerGroup[];

export function roomByFunction(functionIds: Iterable<string>, open: OpenGroups, mostOfEach: number): FunctionRoom[] {
  const shares = new SharedRooms();
  const rooms: { functionId: string; limit: number; leaseMs: number; group: WorkerGroup }[] = [];
  for (const functionId of functionIds) {
    const all = open(functionId);
    const groups = all.filter(({ room }) => room > 0);
    const [group] = groups;
    if (!group) continue;
    const room = groups.reduce((sum, one) => sum + one.room, 0);
    const leaseMs = Math.max(...all.map((one) => one.leaseMs));
    shares.join(groups);
    rooms.push({ functionId, limit: Math.min(room, mostOfEach), leaseMs, group });
  }
  return rooms.map(({ group, ...room }) => ({ ...room, shared: shares.of(group) }));
}

/** How much more of each version of these functions could run; of a version without room: 0. */
export function roomByVersion(functionIds: Iterable<string>, open: OpenGroups, mostOfEach: number): RecallWant[] {
  const wants: RecallWant[] = [];
  for (const functionId of functionIds) {
    const rooms = new Map<string, number>();
    for (const group of open(functionId)) {
      const version = group.versionOf(functionId);
      rooms.set(version, (rooms.get(version) ?? 0) + group.room);
    }
    for (const [appVersion, free] of rooms) wants.push({ functionId, appVersion, limit: Math.min(free, mostOfEach) });
  }
  return wants;
}

/** Groups that are joined share their room. */
class SharedRooms {
  readonly #parents = new Map<WorkerGroup, WorkerGroup>();
  readonly #rooms = new Map<WorkerGroup, { room: number }>();

  join(groups: readonly WorkerGroup[]): void {
    const [first] = groups;
    if (!first) return;
    for (const group of groups) {
      if (!this.#rooms.has(group)) this.#rooms.set(group, { room: group.room });
      const [root, other] = [this.#rootOf(first), this.#rootOf(group)];
      if (root === other) continue;
      this.#parents.set(other, root);
      this.of(root).room += this.#rooms.get(other)?.room ?? 0;
    }
  }

  of(group: WorkerGroup): { room: number } {
    return this.#rooms.get(this.#rootOf(group)) ?? { room: group.room };
  }

  #rootOf(group: WorkerGroup): WorkerGroup {
    let root = group;
    for (let parent = this.#parents.get(root); parent; parent = this.#parents.get(root)) root = parent;
    return root;
  }
}
