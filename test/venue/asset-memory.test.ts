import { createAssetMemory } from "../../src/venue/asset-memory.js";
import { describeAssetStore } from "./asset-store-suite.js";

describeAssetStore("memory", async () => createAssetMemory());
