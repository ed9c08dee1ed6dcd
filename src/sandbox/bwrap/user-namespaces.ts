// Says what lets ordinary users make namespaces where the system keeps bubblewrap from it.

import { existsSync, readFileSync } from "node:fs";
import { attempt } from "../../core/io.js";

/** Complaints of bubblewrap that a setting of the system is the cause of. */
const REFUSED = /permission|not permitted|ENOSPC/i;
/** Profiles of AppArmor under which bubblewrap may make them. */
const PROFILES = ["/etc/apparmor.d/bwrap", "/etc/apparmor.d/bwrap-userns-restrict"];
const APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const SWITCH = "/proc/sys/kernel/unprivileged_userns_clone";
const MOST = "/proc/sys/user/max_user_namespaces";

/** Where settings of the system are read. */
export interface SystemFiles {
  exists(path: string): boolean;
  /** @throws if there is no such file */
  read(path: string): string;
}

const OWN: SystemFiles = { exists: existsSync, read: (path) => readFileSync(path, "utf8") };

/**
 * @param said why no sandbox could be made
 * @returns the same, and what to do about it where that is known
 */
export function withRemedy(said: string, files: SystemFiles = OWN): string {
  const remedy = REFUSED.test(said) ? remedyIn(files) : undefined;
  return remedy === undefined ? said : `${said}. ${remedy}`;
}

function remedyIn(files: SystemFiles): string | undefined {
  const is = (setting: string, value: string): boolean => attempt(() => files.read(setting).trim()) === value;
  if (is(MOST, "0")) return "Namespaces of users are switched off here: set sysctl user.max_user_namespaces to 10000";
  if (is(SWITCH, "0")) return "Ordinary users may make none here: set sysctl kernel.unprivileged_userns_clone to 1";
  if (!is(APPARMOR, "1") || PROFILES.some((path) => files.exists(path))) return undefined;
  return "AppArmor keeps bubblewrap from namespaces here: make /etc/apparmor.d/bwrap as docs/sandbox.md says (Ubuntu)";
}
