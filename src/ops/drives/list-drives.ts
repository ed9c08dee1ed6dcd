import { type DriveOperation, LOOKS } from "../../core/ports/operation.js";

/** The drives of the caller. */
export const listDrives: DriveOperation<object, { drives: string[] }> = {
  name: "list-drives",
  on: "drives",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(_input, { shelf, sees }) {
    const names = await shelf.list();
    return { drives: names.filter(sees) };
  },
};
