// Packages that read some kinds of documents, and that are not installed everywhere.

import { createRequire } from "node:module";
import type { DocumentKind } from "../core/call/documents.js";
import { attempt } from "../core/io.js";
import { KINDS } from "./kinds.js";

const require = createRequire(import.meta.url);

/** The package that a kind needs and that is not installed. */
export function missingPeer(kind: DocumentKind): string | undefined {
  const { peer } = KINDS[kind];
  return peer === undefined || attempt(() => require.resolve(peer)) !== undefined ? undefined : peer;
}

/** The kinds that can be read here, and plain text. */
export const supportedKinds = (): string[] => [
  ...(Object.keys(KINDS) as DocumentKind[]).filter((kind) => missingPeer(kind) === undefined),
  "text",
];
