// The catalogue of hosted operations: every name, path and asset reference that resolves to one.

import type { Adapter, JsonObject, OperationMetadata } from "../../core/ports/adapter.js";
import { fieldsOf } from "../../core/unknown.js";
import type { OperationListing } from "../../surfaces/http/host.js";

/** An operation hosted by the venue. */
export interface HostedOperation {
  /** Catalogue path, `v/ops/file/read`. */
  readonly path: string;
  /** Id of the asset that describes the operation: 64 hex digits. Registered when it is first asked for, since hashing takes time. */
  readonly asset: string;
  readonly adapter: Adapter;
  readonly metadata: OperationMetadata;
  /** The operation as clients see it. */
  readonly listing: OperationListing;
}

/** The result of resolving a reference. */
export interface ResolvedOperation {
  readonly operation: HostedOperation;
  /** Id of the asset named by the reference, unless it is the operation's own. */
  readonly asset?: string;
}

/** The operations of a venue, found by name, path or asset reference. */
export interface Catalogue {
  /** Changes whenever an adapter is added. */
  readonly revision: number;
  readonly adapters: readonly Adapter[];
  /**
   * @throws Error when a name is taken or invalid, or an operation lacks its adapter's prefix; nothing is added then
   */
  add(adapter: Adapter): void;
  /** Registers the assets of all operations, also of those that are added later: before anybody can ask for an asset. */
  registerAssets(): void;
  /**
   * Resolves the reference to an operation: `v/ops/<adapter>/<op>`, `<adapter>:<op>`, `<venueDID>/v/ops/…`, or an asset
   * that describes an operation, each with an optional leading `/`. @returns `undefined` when it cannot be resolved
   */
  resolve(reference: string): ResolvedOperation | undefined;
  /** Finds an operation by dispatch name only, such as `file:read`. */
  named(name: string): HostedOperation | undefined;
  /** Operations that are listed, in order of registration. */
  list(): readonly HostedOperation[];
  /** All operations, including those that are not listed. */
  all(): readonly HostedOperation[];
}

export interface CatalogueOptions {
  /** The venue's own DID; references with any other DID do not resolve. */
  readonly did: string;
  /** Registers the asset of an operation. @returns its id */
  registerOperation(metadata: JsonObject): string;
  /** Looks up an asset reference; `undefined` if it names no asset or is not an asset reference. */
  findAsset(reference: string): { readonly id: string; readonly metadata: JsonObject } | undefined;
}

/** Creates an empty catalogue. */
export function createCatalogue(options: CatalogueOptions): Catalogue {
  const byName = new Map<string, HostedOperation>();
  const byPath = new Map<string, HostedOperation>();
  const adapters: Adapter[] = [];
  const ownPrefix = `${options.did}/`;
  let isRegistered = false;
  const registerAssets = (): void => {
    isRegistered = true;
    for (const operation of byName.values()) void operation.asset;
  };
  const byAsset = (reference: string): ResolvedOperation | undefined => {
    if (!isRegistered) registerAssets();
    const found = options.findAsset(reference);
    const name = found && adapterOf(found.metadata);
    const operation = name === undefined ? undefined : byName.get(name);
    if (found === undefined || operation === undefined) return undefined;
    return found.id === operation.asset ? { operation } : { operation, asset: found.id };
  };
  return {
    get revision() {
      return adapters.length;
    },
    adapters,
    add(adapter) {
      if (adapters.some(({ name }) => name === adapter.name)) throw cannotHost(adapter.name, "registered twice");
      if (!ADAPTER_NAME.test(adapter.name)) {
        throw cannotHost(adapter.name, "names are lower-case letters, digits, _ and -");
      }
      const added = adapter.operations.map((metadata) => host(adapter, metadata, options));
      for (const [index, { metadata, path }] of added.entries()) {
        const twice = added.findIndex((other) => other.path === path) !== index;
        if (twice || byPath.has(path)) throw cannotHost(metadata.name, "registered twice");
      }
      for (const operation of added) {
        byName.set(operation.metadata.name, operation);
        byPath.set(operation.path, operation);
      }
      adapters.push(adapter);
      if (isRegistered) registerAssets();
    },
    registerAssets,
    resolve(reference) {
      const plain = reference.startsWith("/") ? reference.slice(1) : reference;
      const local = plain.startsWith(ownPrefix) ? plain.slice(ownPrefix.length) : plain;
      const operation = byPath.get(local) ?? (local === plain ? byName.get(plain) : undefined);
      return operation === undefined ? byAsset(reference) : { operation };
    },
    named: (name) => byName.get(name),
    all: () => [...byName.values()],
    list: () => [...byName.values()].filter(({ metadata }) => metadata.unavailable?.() === undefined),
  };
}

const cannotHost = (name: string, reason: string): Error => new Error(`Cannot host "${name}": ${reason}`);

/** The dispatch name in the metadata of an operation asset. */
function adapterOf({ operation }: JsonObject): string | undefined {
  const { adapter } = fieldsOf(operation);
  return typeof adapter === "string" ? adapter : undefined;
}

const ADAPTER_NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const OPERATION_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

function host(adapter: Adapter, metadata: OperationMetadata, options: CatalogueOptions): HostedOperation {
  const prefix = `${adapter.name}:`;
  const name = metadata.name.slice(prefix.length);
  if (!metadata.name.startsWith(prefix)) throw cannotHost(metadata.name, `the name must start with "${prefix}"`);
  if (!OPERATION_NAME.test(name)) throw cannotHost(metadata.name, "names are letters, digits, _ and -");
  const path = `v/ops/${adapter.name}/${name}`;
  const { description, input, output } = metadata;
  let id: string | undefined;
  const assetId = (): string => {
    id ??= options.registerOperation(operationAsset(metadata));
    return id;
  };
  return {
    ...{ path, adapter, metadata },
    get asset() {
      return assetId();
    },
    listing: {
      name: path,
      get asset() {
        return assetId();
      },
      ...{ description, input, output },
    },
  };
}

/**
 * The metadata of the asset that describes an operation: deterministic, so the id is stable and known up front.
 */
export function operationAsset(operation: OperationMetadata): JsonObject {
  const { name, toolName, title, description, input, output } = operation;
  return { name: title, description, operation: { adapter: name, toolName, input, output } };
}
