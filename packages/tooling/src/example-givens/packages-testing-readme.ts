/** What the blocks of the README of @holdfast/testing use and do not show. */
import type { TestGateway } from "@holdfast/testing";

export { spawnNode, waitFor } from "@holdfast/testing";

export declare const gateway: TestGateway;
export const id = "01JZ6Q4WJ2M6W9S0V7K3N8T5YB";
export const connectTo = (url: string): void => console.log(url);
export const findRun = async (run: string): Promise<{ readonly status: string } | undefined> => ({ status: run });
export const migrate = async (url: string): Promise<void> => console.log(url);
