import { type DriveKey, type DriveOperation, LOOKS } from "../../core/ports/operation.js";

/** The key that signs the drives of the caller, for one who leaves with them; offered only where the operator allows it. */
export const exportDriveKey: DriveOperation<Readonly<Record<string, never>>, DriveKey> = {
  name: "export-key",
  on: "drives",
  ability: "crud/read",
  // Whoever has the key can sign whatever the drives may ever hold.
  also: ["crud/write", "crud/delete"],
  changes: false,
  annotations: LOOKS,
  hiddenOutput: ["seed"],
  isOnAll: () => true,
  run: (_, { shelf }) => shelf.exportKey(),
};
