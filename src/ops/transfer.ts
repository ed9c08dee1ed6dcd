import type { Ability } from "../core/call/capability.js";
import { isADirectory, notAFile, notFound, notSupportedHere } from "../core/errors/texts.js";
import type { Operation } from "../core/ports/operation.js";
import type { Direction } from "../core/ports/transfer.js";
import type { TransferInput, TransferOutput } from "../schema/types.js";

const ABILITIES: Readonly<Record<Direction, Ability>> = { download: "crud/read", upload: "crud/write" };
const DEFAULT_TTL_SECONDS = 300;

/** `transfer`: a ticket to download or upload one file over HTTP; its bearer acts with the caller's rights. */
export const transfer: Operation<TransferInput, TransferOutput> = {
  name: "transfer",
  on: "places",
  ability: "crud/read",
  // The ticket changes nothing until it is used, and the call that uses it is authorised like any change.
  changes: false,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  async run(input, call) {
    const { direction, ttlSeconds = DEFAULT_TTL_SECONDS } = input;
    const changes = direction === "upload";
    const { root, path, access } = call.at({ ...input, abilities: [ABILITIES[direction]], changes });
    const found = await root.backend.stat(path, access);
    if (found === undefined && !changes) throw notFound(access.place);
    if (path.segments.length === 0 || found?.type === "directory") throw isADirectory(access.place);
    if (found !== undefined && found.type !== "file") throw notAFile(access.place);
    const ticket = await call.issueTicket?.({ direction, root: root.name, path: path.text, ttlSeconds });
    if (ticket === undefined) throw notSupportedHere(`tickets, which need HTTP. Use ${otherOperations(direction)}`);
    return ticket;
  },
};

const otherOperations = (direction: Direction): string =>
  direction === "upload" ? "file_write and file_append" : "file_read with offset and length";
