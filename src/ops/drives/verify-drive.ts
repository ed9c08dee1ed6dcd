import type { DriveCheck } from "../../core/ports/drive-shelf.js";
import { type DriveOperation, LOOKS } from "../../core/ports/operation.js";

type VerifyOutput = Omit<DriveCheck, "damaged"> & { readonly damaged: readonly string[] };

/** `verify`: reads everything in a drive and reports what is damaged. */
export const verifyDrive: DriveOperation<{ drive: string }, VerifyOutput> = {
  name: "verify",
  on: "drives",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run({ drive }, { shelf, scope }) {
    const { damaged, ...report } = await shelf.verify(drive, () => scope.checkpoint());
    return { ...report, damaged: damaged.map((path) => path.join("/")) };
  },
  bytes: ({ bytes }) => bytes,
};
