import { storeContract } from "../../../packages/store/test/contract/index.ts";
import { useStore } from "./harness.ts";

storeContract({ open: useStore });
