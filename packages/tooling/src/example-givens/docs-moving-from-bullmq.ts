/** What the blocks of docs/moving-from-bullmq.md use and do not show. */
export declare function charge(card: string): Promise<string>;
export declare function print(): Promise<void>;
export declare function ship(items: readonly string[]): Promise<void>;
