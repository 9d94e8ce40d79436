/**
 * Templates: texts with `{{ctx.a.b[0]}}` in them. An expression is a path into `ctx`, or several alternatives:
 * `{{ctx.a ?? ctx.b ?? 'none'}}`. Nothing is computed, so filling a template in is linear and touches own properties only.
 */

/** `ctx.a["b"][0]`: the steps after `ctx`. */
export interface TemplatePath {
  readonly kind: "path";
  readonly steps: readonly (string | number)[];
  /** As it was written. */
  readonly text: string;
}

export interface TemplateLiteral {
  readonly kind: "literal";
  readonly value: string | number | boolean | null;
}

export type TemplateOperand = TemplatePath | TemplateLiteral;

/** Alternatives, the first that is there and not null counts. */
export interface TemplateExpression {
  readonly kind: "expression";
  readonly operands: readonly TemplateOperand[];
}

export type TemplatePart = string | TemplateExpression;

export class TemplateSyntaxError extends Error {
  override readonly name = "TemplateSyntaxError";
}

/** A text without expressions gives that text alone. @throws TemplateSyntaxError */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let at = 0;
  for (let open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", at)) {
    if (open > at) parts.push(text.slice(at, open));
    const scanner = new Scanner(text, open + 2);
    parts.push(scanner.expression());
    at = scanner.position;
  }
  if (at < text.length || parts.length === 0) parts.push(text.slice(at));
  return parts;
}

const NAME = /[A-Za-z0-9_$-]/;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const MAX_STEPS = 64;

class Scanner {
  readonly #text: string;
  position: number;

  constructor(text: string, position: number) {
    this.#text = text;
    this.position = position;
  }

  expression(): TemplateExpression {
    const operands = [this.#operand()];
    for (;;) {
      this.#space();
      if (this.#take("}}")) return { kind: "expression", operands };
      if (!this.#take("??")) throw this.#error("expected `??` or `}}`");
      operands.push(this.#operand());
    }
  }

  #operand(): TemplateOperand {
    this.#space();
    const begin = this.position;
    const first = this.#text[begin];
    if (first === "'" || first === '"') return { kind: "literal", value: this.#quoted() };
    NUMBER.lastIndex = begin;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number !== undefined) {
      this.position += number.length;
      return { kind: "literal", value: Number(number) };
    }
    const word = this.#name();
    if (Object.hasOwn(WORDS, word)) return { kind: "literal", value: WORDS[word] ?? null };
    if (word !== "ctx") throw this.#error("expected `ctx.`, a text in quotes, a number, true, false or null", begin);
    const steps: (string | number)[] = [];
    for (let step = this.#step(); step !== undefined; step = this.#step()) {
      steps.push(step);
      if (steps.length > MAX_STEPS) throw this.#error(`a path has at most ${MAX_STEPS} steps`, begin);
    }
    return { kind: "path", steps, text: this.#text.slice(begin, this.position) };
  }

  /** `.name`, `[0]` or `["name"]`; undefined at the end of the path. */
  #step(): string | number | undefined {
    if (this.#take(".")) {
      const name = this.#name();
      if (name === "") throw this.#error("expected a name after `.`");
      return name;
    }
    if (!this.#take("[")) return undefined;
    const quote = this.#text[this.position];
    let step: string | number;
    if (quote === "'" || quote === '"') step = this.#quoted();
    else {
      const digits = this.#name();
      if (!/^(0|[1-9][0-9]{0,9})$/.test(digits)) throw this.#error("expected an index or a text in quotes after `[`");
      step = Number(digits);
    }
    if (!this.#take("]")) throw this.#error("expected `]`");
    return step;
  }

  #name(): string {
    const begin = this.position;
    while (NAME.test(this.#text[this.position] ?? "")) this.position += 1;
    return this.#text.slice(begin, this.position);
  }

  /** A backslash keeps the next character as it is. */
  #quoted(): string {
    const quote = this.#text[this.position];
    let value = "";
    for (this.position += 1; this.position < this.#text.length; this.position += 1) {
      const char = this.#text[this.position] as string;
      if (char === quote) {
        this.position += 1;
        return value;
      }
      if (char === "\\") this.position += 1;
      value += this.#text[this.position] ?? "";
    }
    throw this.#error("the text in quotes has no end");
  }

  #space(): void {
    while (/\s/.test(this.#text[this.position] ?? "")) this.position += 1;
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.position)) return false;
    this.position += token.length;
    return true;
  }

  #error(why: string, at = this.position): TemplateSyntaxError {
    const end = at >= this.#text.length ? "at its end" : `at ${JSON.stringify(this.#text.slice(at, at + 30))}`;
    return new TemplateSyntaxError(`${why}, ${end}`);
  }
}
