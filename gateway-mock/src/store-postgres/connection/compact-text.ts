/**
 * JSON texts as Postgres has them: what most of them have in common is one sign there, of those that no JSON text holds as
 * they are (docs/decisions/0141). `holdfast.whole_fact` and `holdfast.whole_event` read them, too (migration 026).
 */

/** Signs are looked for in so much of a text: what is large is not read from end to end for them. */
const WINDOW = 512;
const ONE_OF_THEM = "[\u0001-\u0008\u000b\u000c\u000e-\u001d]";
const SIGN = new RegExp(ONE_OF_THEM);
const SIGNS = new RegExp(ONE_OF_THEM, "g");

/** Of what is longer a few signs less are nothing, and a copy is. */
const MAX_LENGTH = 32 * 1024;

/** What a sign stands for. */
export interface Piece {
  readonly sign: string;
  readonly text: string;
}

/**
 * The text with each of the pieces replaced that is found after those before it. The same again with `wholeText`, whatever
 * else the text holds.
 * @throws TypeError where it is no JSON and would be read as another text
 */
export function compactText(text: string, pieces: readonly Piece[]): string {
  const isShort = text.length <= WINDOW;
  expectNoSign(text);
  if (staysWhole(text)) return text;
  const head = isShort ? text : text.slice(0, WINDOW);
  let compact = "";
  let from = 0;
  for (const { sign, text: piece } of pieces) {
    const at = head.indexOf(piece, from);
    if (at < 0) continue;
    compact += head.slice(from, at) + sign;
    from = at + piece.length;
  }
  return from === 0 ? text : compact + text.slice(from);
}

/** Whether it is too long to be made shorter: `compactText` would return it as it is. */
export const staysWhole = (text: string): boolean => text.length > MAX_LENGTH;

/**
 * Of a text within others: from this place on.
 * @throws TypeError where it is no JSON and would be read as another text
 */
export function expectNoSign(text: string, from = 0): void {
  // What is behind the window comes into that of the reader, which is filled with signs.
  const isAll = from === 0 && text.length <= WINDOW;
  if (SIGN.test(isAll ? text : text.slice(from, from + 2 * WINDOW)))
    throw new TypeError("A string with a sign is not valid JSON");
}

/** What `compactText` was given. Texts that were written before there were signs are as they are. */
export function wholeText(text: string, meaningOf: (sign: string) => string | undefined): string {
  const isShort = text.length <= WINDOW;
  const head = isShort ? text : text.slice(0, WINDOW);
  if (!SIGN.test(head)) return text;
  const whole = head.replace(SIGNS, (sign) => meaningOf(sign) ?? sign);
  return isShort ? whole : whole + text.slice(WINDOW);
}

/** Names that stand in JSON as they are, in Postgres as here. */
export const isPlainName = (name: string): boolean => /^[\w.:/@-]+$/.test(name);
