/** A binary heap: what comes first by `isBefore` is popped first. `scheduler.ts` keeps what is to happen in one. */
export class Heap<Value> {
  readonly #values: Value[] = [];
  readonly #isBefore: (a: Value, b: Value) => boolean;

  constructor(isBefore: (a: Value, b: Value) => boolean) {
    this.#isBefore = isBefore;
  }

  push(value: Value): void {
    const values = this.#values;
    let at = values.length;
    values.push(value);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = values[up] as Value;
      if (!this.#isBefore(value, parent)) break;
      values[at] = parent;
      at = up;
    }
    values[at] = value;
  }

  pop(): Value | undefined {
    const values = this.#values;
    const top = values[0];
    const last = values.pop();
    if (top === undefined || last === undefined || values.length === 0) return top;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= values.length) break;
      if (down + 1 < values.length && this.#isBefore(values[down + 1] as Value, values[down] as Value)) down += 1;
      const child = values[down] as Value;
      if (!this.#isBefore(child, last)) break;
      values[at] = child;
      at = down;
    }
    values[at] = last;
    return top;
  }
}
