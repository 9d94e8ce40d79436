import { createHash } from "node:crypto";

export const hashStepId = (id: string): string => createHash("sha1").update(id).digest("hex");
