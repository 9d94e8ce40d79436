/** Where the documentation is published, and the page of each error there. */

/** With a slash at its end; empty: it is published nowhere, and errors name no page. */
export const DOCS_ADDRESS: string = "";

/** Undefined while there is no address. */
export function errorPage(code: string, address: string = DOCS_ADDRESS): string | undefined {
  return address === "" ? undefined : `${address}errors.html#${code.toLowerCase()}`;
}
