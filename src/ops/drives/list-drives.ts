import { type DriveOperation, LOOKS } from "../../core/ports/operation.js";

/** `list-drives`: the names of the caller's drives. */
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
