// Operations on the drives of a caller: listing, creating and deleting them by name.

import { invalidInput } from "../../core/errors/texts.js";
import { type DriveOperation, READS } from "../../core/ports/operation.js";

/** Names a drive by `drive`, or by `name` (as in the reference's schema). If both are given, they must be equal. */
interface NamedDrive {
  readonly drive?: string;
  readonly name?: string;
}

/** @throws INVALID_INPUT unless exactly one drive is named */
function checkNamedDrive({ drive, name }: NamedDrive): void {
  if (drive === undefined && name === undefined) throw invalidInput("'drive' is required", "/drive", "a value");
  if (drive === undefined || name === undefined || drive === name) return;
  throw invalidInput("Only one of 'drive' or 'name' may be given", "/name", "one of drive, name");
}

/** The drive of a checked input. */
const namedDrive = ({ drive, name }: NamedDrive): string => drive ?? name ?? "";

/** `list-drives`: the names of the caller's drives. */
export const listDrives: DriveOperation<object, { drives: string[] }> = {
  name: "list-drives",
  on: "drives",
  ...READS,
  async run(_input, { shelf, sees }) {
    const names = await shelf.list();
    return { drives: names.filter(sees) };
  },
};

/** `create-drive`: creates a drive. */
export const createDrive: DriveOperation<NamedDrive, { name: string; drive: string; created: boolean }> = {
  name: "create-drive",
  on: "drives",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  check: checkNamedDrive,
  driveOf: namedDrive,
  async run(input, { shelf, scope, maker }) {
    const drive = namedDrive(input);
    scope.commit();
    return { name: drive, drive, created: await shelf.create(drive, maker) };
  },
};

interface Deleted {
  readonly name: string;
  readonly drive: string;
  readonly deleted: boolean;
  readonly existed: boolean;
}

/** `delete-drive`: deletes a drive with its content. */
export const deleteDrive: DriveOperation<NamedDrive, Deleted> = {
  name: "delete-drive",
  on: "drives",
  ability: "crud/delete",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  check: checkNamedDrive,
  driveOf: namedDrive,
  async run(input, { shelf, scope, maker }) {
    const drive = namedDrive(input);
    scope.commit();
    const existed = await shelf.delete(drive, maker);
    return { name: drive, drive, deleted: existed, existed };
  },
};
