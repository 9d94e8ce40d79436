/** What the blocks of docs/moving-from-temporal.md use and do not show. */
export declare function charge(card: string): Promise<string>;
export declare function refund(payment: string): Promise<void>;
export declare function ship(items: readonly string[], payment: string): Promise<string[]>;
