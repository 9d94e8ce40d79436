/** A terminal as far as the status area uses it: what it would show, with what has scrolled away. */

export class Screen {
  readonly #columns: number;
  readonly #rows: number;
  readonly #lines: string[] = [""];
  #row = 0;
  #column = 0;
  #wraps = true;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  /** The cursor, counted from the first line that there ever was. */
  get cursor(): { readonly column: number; readonly row: number } {
    return { column: this.#column, row: this.#row };
  }

  /** All lines that are not empty, the scrolled ones too. */
  all(): readonly string[] {
    return this.#lines.map((line) => line.trimEnd()).filter((line) => line !== "");
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal reads.
    for (const [part] of text.matchAll(/\u001b\[[?0-9;]*[A-Za-z]|[\s\S]/gu)) this.#take(part);
  }

  #take(part: string): void {
    if (part === "\r") this.#column = 0;
    else if (part === "\n") this.#down();
    else if (part.startsWith("\u001b[")) this.#obey(part.slice(2));
    else this.#put(part);
  }

  #down(): void {
    this.#row += 1;
    this.#lines[this.#row] ??= "";
  }

  #put(character: string): void {
    if (this.#column >= this.#columns) {
      if (this.#wraps) {
        this.#column = 0;
        this.#down();
      } else this.#column = this.#columns - 1;
    }
    const line = (this.#lines[this.#row] ?? "").padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column += 1;
  }

  #obey(command: string): void {
    if (command === "?7l") this.#wraps = false;
    else if (command === "?7h") this.#wraps = true;
    else if (command === "J") {
      this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column);
      this.#lines.length = this.#row + 1;
    } else if (/^\d+A$/.test(command)) {
      // Above the first visible line there is nothing to go to.
      const first = Math.max(0, this.#lines.length - this.#rows);
      this.#row = Math.max(first, this.#row - Number.parseInt(command, 10));
    } else if (!command.startsWith("?2026") && !command.endsWith("m")) throw new Error(`What is ESC [ ${command}?`);
  }
}
