/** What the blocks of docs/sagas.md use and do not show. */
import { Holdfast } from "holdfast";

export const app = new Holdfast({ id: "travel" });

export const cancelBooking = async (path: string, key: string): Promise<string> => `${path} ${key}`;
