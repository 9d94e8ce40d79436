/** What the blocks of docs/moving-from-inngest.md use and do not show. */
export declare function charge(card: string): Promise<string>;
export declare function ship(items: readonly string[], payment: string): Promise<string[]>;
