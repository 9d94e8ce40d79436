/** What the blocks of the README of @holdfast/testing use and do not show. */
import type { TestGateway } from "@holdfast/testing";

export { spawnNode, waitFor } from "@holdfast/testing";

export declare function connectTo(url: string): void;
export declare function findRun(id: string): Promise<{ readonly status: string } | undefined>;
export declare const gateway: TestGateway;
export declare const id: string;
export declare function migrate(url: string): Promise<void>;
