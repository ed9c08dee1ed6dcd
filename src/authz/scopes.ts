// OAuth scopes on files, and the capabilities that they stand for.

import type { Capability } from "../core/call/capability.js";

/** The scopes that name no root. */
export const SCOPES = ["files:read", "files:write", "files:delete"] as const;
const LEAST = SCOPES[0];

const SCOPE = /^files:(?:([A-Za-z0-9][A-Za-z0-9._-]{0,62}):)?(read|write|delete)$/;

/** Capabilities of OAuth scopes; reading, where none of them is about files. */
export function capsOfScopes(granted: readonly string[]): readonly Capability[] {
  const own = granted.filter(isOfFiles);
  return (own.length === 0 ? [LEAST] : own).flatMap((scope) => {
    const [, root, verb] = SCOPE.exec(scope) ?? [];
    return verb === undefined
      ? []
      : [{ with: root === undefined ? "file://" : `file://${root}/`, can: `crud/${verb}` }];
  });
}

export const isOfFiles = (scope: string): boolean => scope.startsWith("files:");

/** The scopes that stand for capabilities made by {@link capsOfScopes}. */
export const scopesOf = (caps: readonly Capability[]): readonly string[] =>
  caps.map(({ with: resource, can }) => `files:${resource.slice("file://".length).replace("/", ":")}${can.slice(5)}`);

/** Whether capabilities made by {@link capsOfScopes} have reading in a root; without a name, in any. */
export const readsByScopes = (caps: readonly Capability[], root?: string): boolean =>
  caps.some(
    ({ with: resource, can }) =>
      can === "crud/read" && (root === undefined || resource === "file://" || resource === `file://${root}/`),
  );

/** The scopes for abilities; running commands and approving have none. */
export const scopesFor = (abilities: readonly unknown[]): readonly string[] =>
  SCOPES.filter((scope) => abilities.includes(`crud/${scope.slice("files:".length)}`));
