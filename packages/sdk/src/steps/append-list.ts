/** A list that grows at its end in constant time without being changed: what state machines keep growing lists in. */
export type AppendList<T> = ListNode<T> | null;

interface ListNode<T> {
  readonly last: T;
  readonly before: AppendList<T>;
  readonly length: number;
}

export function push<T>(list: AppendList<T>, value: T): ListNode<T> {
  return { last: value, before: list, length: listLength(list) + 1 };
}

export function concat<T>(list: AppendList<T>, values: readonly T[]): AppendList<T> {
  let longer = list;
  for (const value of values) longer = push(longer, value);
  return longer;
}

export function listLength(list: AppendList<unknown>): number {
  return list === null ? 0 : list.length;
}

/** In the order in which the values were pushed. */
export function toArray<T>(list: AppendList<T>): T[] {
  if (list === null) return [];
  // Most have one value; a list that is pushed to begins with room for seventeen.
  if (list.before === null) return [list.last];
  const values = new Array<T>(list.length);
  for (let node: AppendList<T> = list; node !== null; node = node.before) values[node.length - 1] = node.last;
  return values;
}
