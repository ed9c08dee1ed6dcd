// The value tree of a venue, `v/info` and `v/ops`, by which clients discover it.

import type { Adapter, JsonObject } from "../../core/ports/adapter.js";
import { type HostedOperation, operationAsset } from "./catalogue.js";

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
  /** Changes whenever the adapters or operations do. */
  revision(): number;
}

/**
 * Creates the value tree that clients can read: `v/info` and `v/ops`.
 *
 * @returns a function that returns the tree; the same object until the revision changes
 */
export function createValues(options: ValuesOptions): () => JsonObject {
  let made: { readonly revision: number; readonly tree: JsonObject } | undefined;
  return () => {
    const revision = options.revision();
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
    { ...adapter, operations: own.map(({ path }) => path) },
  ]);
  const ops = adapters.map(({ name: adapter, own }) => [
    adapter,
    Object.fromEntries(
      own.map(({ path, metadata }) => [path.slice(path.lastIndexOf("/") + 1), operationAsset(metadata)]),
    ),
  ]);
  const info = { name, did, version, started, protocols, adapters: Object.fromEntries(infos) };
  return { v: { info, ops: Object.fromEntries(ops) } };
}
