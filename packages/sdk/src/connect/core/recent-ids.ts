/** Remembers the last `capacity` ids that were added. */
export interface RecentIds {
  add(id: string): void;
  has(id: string): boolean;
}

export function createRecentIds(capacity: number): RecentIds {
  const ids = new Set<string>();
  return {
    add: (id) => {
      ids.delete(id);
      ids.add(id);
      if (ids.size <= capacity) return;
      for (const oldest of ids) {
        ids.delete(oldest);
        return;
      }
    },
    has: (id) => ids.has(id),
  };
}
