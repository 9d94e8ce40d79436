/** What the blocks of docs/moving-from-inngest.md use and do not show. */
export const charge = async (card: string): Promise<string> => `payment by ${card}`;
export const ship = async (items: readonly string[], payment: string): Promise<string[]> => [...items, payment];
