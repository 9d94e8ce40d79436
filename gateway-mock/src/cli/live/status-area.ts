/**
 * Lines that scroll, and below them a few that are drawn anew: what `dev` shows on a terminal (docs/decisions/0109).
 *
 * AREA-1. A line that is written stays: only what the area itself has drawn is ever removed. So the cursor rests at the
 *     beginning of the area's first line, from where it clears downwards. What other programs write to the same terminal
 *     covers the area, and is above the cursor by the time that it is drawn again.
 * AREA-2. Each change is one write, with the cursor back where it was: nothing flickers, and nothing has to be restored
 *     when the process is killed.
 * AREA-3. The area never wraps, however narrow the terminal is: its lines end at the right margin.
 */

const SYNC = ["\u001b[?2026h", "\u001b[?2026l"] as const;
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const CLEAR_BELOW = "\r\u001b[J";
const up = (lines: number): string => (lines === 0 ? "\r" : `\r\u001b[${lines}A`);

export interface AreaTarget {
  write(text: string): void;
}

export class StatusArea {
  readonly #target: AreaTarget;
  #lines: readonly string[] = [];
  #isOver = false;

  constructor(target: AreaTarget) {
    this.#target = target;
  }

  /** Lines of the log, each with its end. */
  write(text: string): void {
    if (this.#lines.length === 0) this.#target.write(text);
    else this.#target.write(`${SYNC[0]}${CLEAR_BELOW}${text}${this.#drawn()}${SYNC[1]}`);
  }

  /** What is below them from now on; the same again writes nothing, unless the terminal has another size. */
  show(lines: readonly string[], isResized = false): void {
    if (this.#isOver) return;
    const isSame = lines.length === this.#lines.length && lines.every((line, index) => line === this.#lines[index]);
    if (isSame && !isResized) return;
    const before = this.#lines.length === 0 ? "" : CLEAR_BELOW;
    this.#lines = lines;
    this.#target.write(`${SYNC[0]}${before}${this.#drawn()}${SYNC[1]}`);
  }

  /** Lines only, from now on. */
  end(): void {
    this.#isOver = true;
    if (this.#lines.length === 0) return;
    this.#lines = [];
    this.#target.write(CLEAR_BELOW);
  }

  #drawn(): string {
    const { length } = this.#lines;
    return length === 0 ? "" : `${NO_WRAP}${this.#lines.join("\r\n")}${WRAP}${up(length - 1)}`;
  }
}
