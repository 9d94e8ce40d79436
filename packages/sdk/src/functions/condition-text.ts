const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Text, raw or over several lines too; a comment; an operator; a bracket. */
const TOKEN =
  /[rR](?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')|"""(?:\\[\s\S]|[\s\S])*?"""|'''(?:\\[\s\S]|[\s\S])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*|[=!<>&|]+|[()[\]{}"'`;]/g;

const MISTAKES: Readonly<Record<string, string>> = {
  "=": 'write "==" to compare',
  "===": 'write "==" to compare',
  "!==": 'write "!=" to compare',
  "&": 'write "&&"',
  "|": 'write "||"',
  "=>": "macros are written list.exists(x, ...)",
  "'": "a string is not terminated",
  '"': "a string is not terminated",
  "`": "strings are quoted with ' or \"",
  ";": "it must be a single expression",
};

/**
 * Why no gateway could use a CEL expression; null when one may. The gateway has the last word when the app connects: this finds
 * what is plainly wrong where the function is defined, without a parser in every app.
 */
export function conditionProblem(source: string): string | null {
  const open: string[] = [];
  for (const [token] of source.matchAll(TOKEN)) {
    const mistake = Object.hasOwn(MISTAKES, token) ? MISTAKES[token] : undefined;
    if (mistake !== undefined) return mistake;
    if (token in CLOSERS) open.push(CLOSERS[token] as string);
    else if (/^[)\]}]$/.test(token) && open.pop() !== token) return `"${token}" closes nothing`;
  }
  const missing = open.pop();
  return missing === undefined ? null : `a "${missing}" is missing`;
}
