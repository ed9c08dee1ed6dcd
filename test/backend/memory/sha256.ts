import { createHash } from "node:crypto";
import type { Sha256 } from "../../../src/core/etag.js";

export const sha256Of = (bytes: Uint8Array): Sha256 => createHash("sha256").update(bytes).digest("hex");
