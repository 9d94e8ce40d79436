/** Addresses that `http` nodes may call; the gateway decides besides which of them it does. */

export const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text);
