// Cursors of pages that go from newer to older journal entries: the id of the last one, bound to the call.

import { type Binding, invalidCursor, seal, unseal } from "../../search/cursor.js";

/** @param id the last entry that has been answered */
export const writeIdCursor = (binding: Binding, id: string): string => seal(binding, Buffer.from(id, "latin1"));

/** @returns the id to go on before @throws INVALID_INPUT unless it was made for the same call */
export function readIdCursor(binding: Binding, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const body = unseal(binding, cursor);
  if (body === undefined || body.length === 0) throw invalidCursor();
  return body.toString("latin1");
}
