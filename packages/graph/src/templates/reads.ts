/** Which names of `ctx` the templates in a value read, and those that cannot be read at all. */
import { parseTemplate, TemplateSyntaxError } from "./parse-template.ts";

export interface TemplateReads {
  /** Path in the value (`.a[0]`), the first step after `ctx` (undefined: `ctx` itself), and whether something follows. */
  readonly reads: readonly { readonly at: string; readonly name: string | undefined; readonly text: string }[];
  readonly errors: readonly { readonly at: string; readonly message: string }[];
}

export function templateReads(value: unknown): TemplateReads {
  const reads: TemplateReads["reads"][number][] = [];
  const errors: TemplateReads["errors"][number][] = [];
  const visit = (each: unknown, at: string): void => {
    if (typeof each === "string") {
      if (each.includes("{{")) readText(each, at);
    } else if (Array.isArray(each)) {
      for (const [index, entry] of each.entries()) visit(entry, `${at}[${index}]`);
    } else if (typeof each === "object" && each !== null) {
      for (const [key, entry] of Object.entries(each)) visit(entry, `${at}.${key}`);
    }
  };
  const readText = (text: string, at: string): void => {
    try {
      for (const part of parseTemplate(text)) {
        if (typeof part === "string") continue;
        for (const operand of part.operands) {
          if (operand.kind !== "path") continue;
          const [name] = operand.steps;
          reads.push({ at, name: name === undefined ? undefined : String(name), text: operand.text });
        }
      }
    } catch (error) {
      if (!(error instanceof TemplateSyntaxError)) throw error;
      errors.push({ at, message: error.message });
    }
  };
  visit(value, "");
  return { reads, errors };
}
