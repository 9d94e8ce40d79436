/** A list or an object that was checked and is kept as text: what is stored as text need not be built before. */
export class JsonText {
  readonly text: string;
  /** In it, with itself. */
  readonly values: number;
  /** Of an object; null when they are very many, and of lists. */
  readonly members: readonly JsonMember[] | null;

  constructor(text: string, values: number, members: readonly JsonMember[] | null) {
    this.text = text;
    this.values = values;
    this.members = members;
  }

  get isObject(): boolean {
    return this.text.startsWith("{");
  }
}

export interface JsonMember {
  readonly key: string;
  readonly text: string;
  readonly values: number;
}

/** As `JSON.stringify`; what was kept as text stays as it is. */
export function jsonText(value: unknown): string {
  return value instanceof JsonText ? value.text : (JSON.stringify(value) ?? "null");
}
