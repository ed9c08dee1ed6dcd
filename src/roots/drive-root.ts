// Roots that are drives, or directories in them: configured, or named by a reference.

import { driveOfAnother, drivesBelow } from "../backend/drive/below.js";
import { DriveBackend, type DriveSource } from "../backend/drive/drive.js";
import { journalAccess } from "../backend/drive/journal.js";
import { invalidInput, notSupportedHere } from "../core/errors/texts.js";
import type { DriveRootConfig, RootConfig } from "../core/file-config.js";
import type { PersonalRoot, RootFacts } from "../core/ports/operation.js";
import { isDriveName } from "../drive/dlfs/name.js";
import { compileDeny, type DenyOptions } from "../path/deny.js";

/** A root of kind `dlfs`: each caller's own drive named `drive`, or a directory in it. */
export function driveRoot(
  name: string,
  config: Omit<DriveRootConfig, "kind">,
  drives: DriveSource | undefined,
): PersonalRoot {
  const { drive, subpath = [], readOnly, description, maxReadBytes, deny, protect, approve, encoding } = config;
  const isWhole = subpath.length === 0;
  const { policy, protection, patterns } = policiesOf({ deny, protect }, { foldsCase: false });
  // Written out: each call by a reference makes one, and several spread objects in one literal take ten times as long.
  return {
    name,
    kind: "dlfs",
    readOnly,
    drive,
    description,
    maxReadBytes,
    approve,
    policy,
    protection,
    patterns,
    encoding: otherThanUtf8(encoding),
    subpath: isWhole ? undefined : subpath,
    backendFor(owner, isOthers) {
      if (drives === undefined) throw notSupportedHere("drives");
      const own = async () => {
        const all = await drives.of(owner);
        return isOthers ? driveOfAnother(all, drive, name) : all;
      };
      const open = isWhole ? own : async () => drivesBelow(await own(), subpath);
      return new DriveBackend({ open, drive });
    },
    journalFor: drives && ((owner) => journalAccess(drives, owner, { drive, top: subpath })),
  };
}

interface NamedDrive {
  /** Name of the root. Default: that of the drive. */
  readonly name?: string;
  /** Name and rules of the root by which the operator offers a drive, if it asks a person. */
  readonly asking?: Pick<RootFacts, "name" | "approve" | "subpath"> | undefined;
}

/** A drive that no configuration offers as a root. @throws INVALID_INPUT for a name that no drive can have */
export function driveNamed(
  drive: string,
  source: DriveSource | undefined,
  { name = drive, asking }: NamedDrive,
): PersonalRoot {
  const rules = "1 to 128 bytes, without '/', '\\' and control characters, not '.' or '..'";
  if (!isDriveName(drive))
    throw invalidInput(`'drive' must be the name of a drive: ${rules}`, "/drive", "the name of a drive");
  // A directory of the drive is no name for all of it.
  const askedAs = asking?.subpath === undefined ? { root: asking?.name ?? name } : ("drive" as const);
  const approve = asking?.approve && { ...asking.approve, askedAs };
  return driveRoot(name, { drive, readOnly: false, deny: [], protect: [], encoding: "utf-8", approve }, source);
}

/** The root by which a person is asked about a drive: one that is all of it, else one that is a directory of it. */
export function askingRootOf(roots: readonly RootFacts[], drive: string): RootFacts | undefined {
  const asking = roots.filter((root) => root.drive === drive && root.approve !== undefined);
  return asking.find(({ subpath }) => subpath === undefined) ?? asking[0];
}

export function policiesOf({ deny, protect }: Pick<RootConfig, "deny" | "protect">, options: DenyOptions) {
  return {
    policy: deny.length === 0 ? undefined : compileDeny(deny, options),
    protection: protect.length === 0 ? undefined : compileDeny(protect, options),
    patterns: deny.length + protect.length === 0 ? undefined : { deny, protect },
  };
}

/** UTF-8, the default, counts as not configured: a file may then say otherwise. */
export const otherThanUtf8 = (encoding: string): string | undefined =>
  /^utf-?8$/i.test(encoding) ? undefined : encoding;
