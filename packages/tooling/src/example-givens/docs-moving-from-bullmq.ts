/** What the blocks of docs/moving-from-bullmq.md use and do not show. */
export const charge = async (card: string): Promise<string> => `payment by ${card}`;
export const print = async (): Promise<void> => {};
export const ship = async (items: readonly string[]): Promise<void> => console.log(items.join());
