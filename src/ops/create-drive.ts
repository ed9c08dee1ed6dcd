import type { DriveOperation } from "../core/operation.js";

/** Makes a drive. */
export const createDrive: DriveOperation<{ drive: string }, { created: boolean }> = {
  name: "create-drive",
  on: "drives",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run({ drive }, { shelf, scope }) {
    scope.commit();
    return { created: await shelf.create(drive) };
  },
};
