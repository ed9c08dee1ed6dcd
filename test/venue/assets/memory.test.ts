import { createAssetMemory } from "../../../src/venue/assets/memory.js";
import { describeAssetStore } from "./store-suite.js";

describeAssetStore("memory", async () => createAssetMemory());
