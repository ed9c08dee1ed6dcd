import type { DriveOperation } from "../core/operation.js";

/** Removes a drive with all that is in it. */
export const deleteDrive: DriveOperation<{ drive: string }, { deleted: boolean; existed: boolean }> = {
  name: "delete-drive",
  on: "drives",
  ability: "crud/delete",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async run({ drive }, { shelf, scope }) {
    scope.commit();
    const existed = await shelf.delete(drive);
    return { deleted: existed, existed };
  },
};
