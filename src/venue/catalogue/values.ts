// The value tree of a venue, `v/info`, `v/ops` and `v/skills`, by which clients discover it.

import type { Adapter, JsonObject } from "../../core/ports/adapter.js";
import { MAX_CHARS } from "../../documents/kinds.js";
import { supportedKinds } from "../../documents/peers.js";
import { type HostedOperation, operationAsset } from "./catalogue.js";
import { fileSkill } from "./file-skill.js";

export interface ValuesOptions {
  readonly did: string;
  readonly name: string;
  /** Version of this package. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly started: number;
  readonly protocols: readonly string[];
  /** All hosted adapters, including those without operations. */
  adapters(): readonly Pick<Adapter, "name" | "description">[];
  operations(): readonly HostedOperation[];
  /** Base URL, without a slash at its end. */
  url(): string;
  readonly servesDav: boolean;
  /** Changes whenever the adapters or operations do. */
  revision(): number;
}

/**
 * Creates the value tree that clients can read: `v/info`, `v/ops` and `v/skills`.
 *
 * @returns a function that returns the tree; the same object until the revision changes
 */
export function createValues(options: ValuesOptions): () => JsonObject {
  let made: { readonly revision: string; readonly tree: JsonObject } | undefined;
  return () => {
    const revision = `${options.revision()} ${options.url()}`;
    if (made?.revision !== revision) made = { revision, tree: treeOf(options) };
    return made.tree;
  };
}

function treeOf(options: ValuesOptions): JsonObject {
  const { did, name, version, started, protocols } = options;
  const operations = options.operations();
  const adapters = options.adapters().map((adapter) => {
    const own = operations.filter((operation) => operation.adapter.name === adapter.name);
    return { name: adapter.name, description: adapter.description, own };
  });
  const infos = adapters.map(({ own, ...adapter }) => [
    adapter.name,
    { ...adapter, operations: own.map(({ path }) => path), ...(adapter.name === "dlfs" ? davPart(options) : {}) },
  ]);
  const ops = adapters.map(({ name: adapter, own }) => [
    adapter,
    Object.fromEntries(
      own.map(({ path, metadata }) => [path.slice(path.lastIndexOf("/") + 1), operationAsset(metadata)]),
    ),
  ]);
  // Upstream has an adapter of its own for documents; here reads have a mode.
  const documents = adapters.some((adapter) => adapter.name === "file") ? [["documents", documentsPart()]] : [];
  const hosted = Object.fromEntries([...infos, ...documents]);
  const info = { name, did, version, started, protocols, url: options.url(), adapters: hosted };
  const files = fileSkill(operations.map(({ path }) => path));
  const skills = files && { files, data: { files } };
  return { v: { info, ops: Object.fromEntries(ops), ...(skills && { skills }) } };
}

const documentsPart = (): JsonObject => ({ supported: supportedKinds(), maxChars: MAX_CHARS });

const DRIVES_PATH = "/dlfs/";

/** Where the drives of a caller can be mounted. */
function davPart({ servesDav, url }: ValuesOptions): JsonObject {
  if (!servesDav) return { webdav: { enabled: false } };
  const { protocol, hostname, port } = new URL(url());
  const secure = protocol === "https:" ? "@SSL" : "";
  const windows = `\\\\${hostname}${secure}${port === "" ? "" : `@${port}`}\\DavWWWRoot\\dlfs`;
  return { webdav: { enabled: true, url: `${url()}${DRIVES_PATH}`, path: DRIVES_PATH, windows } };
}
