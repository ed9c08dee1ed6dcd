import type { Adapter, OperationMetadata } from "../core/adapter.js";
import type { OperationListing } from "../surfaces/http/host.js";

/** An operation the venue hosts. */
export interface HostedOperation {
  /** Catalogue path, `v/ops/file/read`. */
  readonly path: string;
  readonly adapter: Adapter;
  readonly metadata: OperationMetadata;
  /** How clients see it. */
  readonly listing: OperationListing;
}

/** The operations of a venue, under every name that leads to them. */
export interface Catalogue {
  /**
   * Finds the operation a client names: `v/ops/<adapter>/<op>`, `<adapter>:<op>` or `<venueDID>/v/ops/…`, each with an
   * optional leading `/`. `undefined`: it cannot be resolved.
   */
  resolve(reference: string): HostedOperation | undefined;
  /** Finds an operation by its dispatch name alone, `file:read`. */
  named(name: string): HostedOperation | undefined;
  /** In the order of registration. */
  list(): readonly HostedOperation[];
}

/**
 * Builds the catalogue of a venue.
 *
 * @param options.did the venue's own DID; references through any other DID do not resolve
 * @throws Error when two operations have the same name, or an operation is not named after its adapter
 */
export function createCatalogue(options: { did: string; adapters: readonly Adapter[] }): Catalogue {
  const byName = new Map<string, HostedOperation>();
  const byPath = new Map<string, HostedOperation>();
  for (const adapter of options.adapters) {
    for (const metadata of adapter.operations) {
      const operation = host(adapter, metadata);
      if (byName.has(metadata.name)) throw new Error(`Cannot host "${metadata.name}": registered twice`);
      byName.set(metadata.name, operation);
      byPath.set(operation.path, operation);
    }
  }
  const all = [...byName.values()];
  const ownPrefix = `${options.did}/`;
  return {
    resolve: (reference) => {
      const plain = reference.startsWith("/") ? reference.slice(1) : reference;
      if (plain.startsWith(ownPrefix)) return byPath.get(plain.slice(ownPrefix.length));
      return byPath.get(plain) ?? byName.get(plain);
    },
    named: (name) => byName.get(name),
    list: () => all,
  };
}

function host(adapter: Adapter, metadata: OperationMetadata): HostedOperation {
  const prefix = `${adapter.name}:`;
  if (!metadata.name.startsWith(prefix)) {
    throw new Error(`Cannot host "${metadata.name}": the name must start with "${prefix}"`);
  }
  const path = `v/ops/${adapter.name}/${metadata.name.slice(prefix.length)}`;
  const { description, input, output } = metadata;
  return { path, adapter, metadata, listing: { name: path, description, input, output } };
}
