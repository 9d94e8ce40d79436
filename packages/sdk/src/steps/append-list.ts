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
  return values.reduce<AppendList<T>>((longer, value) => push(longer, value), list);
}

export function listLength(list: AppendList<unknown>): number {
  return list === null ? 0 : list.length;
}

/** In the order in which the values were pushed. */
export function toArray<T>(list: AppendList<T>): T[] {
  const values: T[] = [];
  for (let node = list; node !== null; node = node.before) values.push(node.last);
  return values.reverse();
}
