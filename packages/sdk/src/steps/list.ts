/** A list that grows at its end in constant time without being changed: what state machines keep growing lists in. */
export type List<T> = ListNode<T> | null;

interface ListNode<T> {
  readonly last: T;
  readonly before: List<T>;
  readonly length: number;
}

export function push<T>(list: List<T>, value: T): ListNode<T> {
  return { last: value, before: list, length: listLength(list) + 1 };
}

export function concat<T>(list: List<T>, values: readonly T[]): List<T> {
  return values.reduce<List<T>>((longer, value) => push(longer, value), list);
}

export function listLength(list: List<unknown>): number {
  return list === null ? 0 : list.length;
}

/** In the order in which the values were pushed. */
export function toArray<T>(list: List<T>): T[] {
  const values: T[] = [];
  for (let node = list; node !== null; node = node.before) values.push(node.last);
  return values.reverse();
}
