/** A digest of everything that was noted, in order; two runs of one seed must agree in it. With `lines` it also keeps the text. */
export class TraceHash {
  readonly lines: string[] | null;
  #low = 0x811c9dc5;
  #high = 0x1b873593;

  constructor(keepLines: boolean) {
    this.lines = keepLines ? [] : null;
  }

  note(atMs: number, who: string, what: string, detail?: string): void {
    this.#mix(atMs * 1000);
    this.#text(who);
    this.#text(what);
    if (detail !== undefined) this.#text(detail);
    this.lines?.push(`${atMs.toFixed(3).padStart(10)} ${who.padEnd(14)} ${what}${detail ? ` ${detail}` : ""}`);
  }

  /** Adds to the last line, for people. */
  explain(text: string): void {
    if (this.lines) this.lines[this.lines.length - 1] += ` = ${text}`;
  }

  get digest(): string {
    return (this.#high >>> 0).toString(16).padStart(8, "0") + (this.#low >>> 0).toString(16).padStart(8, "0");
  }

  #text(text: string): void {
    for (let i = 0; i < text.length; i += 1) this.#mix(text.charCodeAt(i));
  }

  #mix(value: number): void {
    this.#low = Math.imul(this.#low ^ (value | 0), 0x01000193);
    this.#high = Math.imul(this.#high ^ this.#low, 0x85ebca6b) ^ (this.#high >>> 13);
  }
}
