import type { SandboxMount, ShellConfig } from "../../core/ports/sandbox.js";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Whom a command runs as: where this process is not root, as it does itself; else whom the operator named, or whoever
 * owns the first mounted root.
 *
 * @returns `undefined`: as this process; `root`: that would be root, as whom nothing runs
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
