// The user that commands run as.

import type { SandboxMount, ShellConfig } from "../../core/ports/sandbox.js";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Determines the user of a command: this process's own if it is not root; else the configured user, or the owner of the
 * first mounted root.
 *
 * @returns `undefined`: this process's user; `root`: it would be root, which is refused
 */
export function identityFor(
  { uid, gid }: Pick<ShellConfig, "uid" | "gid">,
  mounts: readonly Pick<SandboxMount, "host">[],
): Identity | "root" | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = mounts.find(({ host }) => host !== undefined)?.host;
  const chosen = uid ?? owner?.uid ?? 0;
  if (chosen === 0) return "root";
  const group = gid ?? (uid === undefined || uid === owner?.uid ? owner?.gid : undefined) ?? chosen;
  return { uid: chosen, gid: group === 0 ? chosen : group };
}
