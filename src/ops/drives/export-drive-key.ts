import type { DriveKey } from "../../core/ports/drive-shelf.js";
import { type DriveOperation, LOOKS } from "../../core/ports/operation.js";

/** `export-key`: the key that signs the caller's drives, for moving them elsewhere. The operator must allow it. */
export const exportDriveKey: DriveOperation<Readonly<Record<string, never>>, DriveKey> = {
  name: "export-key",
  on: "drives",
  ability: "crud/read",
  // The holder of the key can sign any content of the drives.
  also: ["crud/write", "crud/delete"],
  changes: false,
  annotations: LOOKS,
  hiddenOutput: ["seed"],
  isOnAllDrives: () => true,
  run: (_, { shelf }) => shelf.exportKey(),
};
