import type { DriveOperation } from "../../core/ports/operation.js";
import { checkNamedDrive, type NamedDrive, namedDrive } from "./named-drive.js";

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
