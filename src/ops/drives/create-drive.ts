import type { DriveOperation } from "../../core/ports/operation.js";
import { checkNamedDrive, type NamedDrive, namedDrive } from "./named-drive.js";

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
