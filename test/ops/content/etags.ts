import { createHash } from "node:crypto";
import { etagOf } from "../../../src/core/etag.js";

/** The etag of a content, as an answer gives it. */
export const etagOfContent = (content: string | Buffer): string =>
  etagOf(createHash("sha256").update(content).digest("hex"));
