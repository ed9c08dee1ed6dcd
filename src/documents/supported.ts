// Kinds of documents that can be read here: some need a package that is not installed everywhere.

import { createRequire } from "node:module";
import type { DocumentKind } from "../core/call/documents.js";
import { KINDS } from "./kinds.js";

/** The kinds whose reader is installed, and plain text. */
export const supportedKinds = (): string[] => [
  ...(Object.keys(KINDS) as DocumentKind[]).filter((kind) => isInstalled(KINDS[kind].peer)),
  "text",
];

function isInstalled(peer: string | undefined): boolean {
  try {
    if (peer !== undefined) createRequire(import.meta.url).resolve(peer);
    return true;
  } catch {
    return false;
  }
}
