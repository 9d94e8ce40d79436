/**
 * Messages without passwords of databases. They are looked for within addresses: a password such as `x` or `postgres`
 * occurs in many words, which would be garbled, and what is left out of them would tell it.
 */

const MASK = "***";

/** Of any address, if nothing in it has to be encoded. */
const IN_ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/?#]*):[^\s@/?#]+@/gi;
const AS_PARAMETER = /([?&]password=)[^\s&#]+/gi;

/** A long one that is no word or sentence says nothing by being left out, and is masked where it stands alone, too. */
const LONG = 8;
const WORDS = /^([\p{L}_]+|\d+)$|\s/u;

/** `url`: the address that the message is about. */
export function maskPasswords(text: string, url: string): string {
  const own = passwordsOf(url);
  const rest = own.reduce((left, password) => left.replaceAll(`:${password}@`, "@"), url);
  return own
    .filter((password) => password.length >= LONG && !WORDS.test(password) && !rest.includes(password))
    .reduce(
      (safe, password) => safe.replace(alone(password), MASK),
      own
        .reduce((safe, password) => safe.replaceAll(`:${password}@`, `:${MASK}@`), text)
        .replace(IN_ADDRESS, `$1:${MASK}@`)
        .replace(AS_PARAMETER, `$1${MASK}`),
    );
}

const alone = (password: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}_])${password.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}(?![\\p{L}\\p{N}_])`, "gu");

/** As it is written in the address, decoded, and encoded as others do it; the longest first. */
function passwordsOf(url: string): readonly string[] {
  const [, written = ""] =
    /^[a-z][a-z0-9+.-]*:\/\/[^:@/?#]*:([^/?#]*)@/i.exec(url) ??
    /^[a-z][a-z0-9+.-]*:\/\/[^:@/?#]*:(.*)@/is.exec(url) ??
    [];
  if (written === "") return [];
  const decoded = decodedOf(written);
  const parsed = URL.canParse(url) ? new URL(url).password : "";
  const all = new Set([written, decoded, encodedOf(decoded), parsed].filter((password) => password !== ""));
  return [...all].sort((a, b) => b.length - a.length);
}

function decodedOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encodedOf(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}
