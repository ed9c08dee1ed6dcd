import { endWithCall } from "../../core/call/end-with-call.js";
import { invalidInput } from "../../core/errors/texts.js";
import type { DriveImport, DriveImported } from "../../core/ports/drive-shelf.js";
import type { DriveOperation } from "../../core/ports/operation.js";
import { loadContent } from "../content/content.js";

type ImportInput = DriveImport & { readonly bytes?: string; readonly asset?: string };

/** `import`: merges an export into the caller's drives, as the other side of the merge; it never replaces. */
export const importDrive: DriveOperation<ImportInput, DriveImported> = {
  name: "import",
  on: "drives",
  ability: "crud/write",
  also: ["crud/delete"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  hidden: ["bytes"],
  check({ bytes, asset }) {
    if ((bytes === undefined) === (asset === undefined))
      throw invalidInput("Exactly one of 'bytes' (base64) or 'asset' (reference) is required", "", "bytes or asset");
  },
  isOnAllDrives: ({ drive }) => drive === undefined,
  async run({ bytes, asset, ...options }, { shelf, scope, maker, ...call }) {
    const place = { root: options.drive ?? "", path: "" };
    const source = { ...(bytes === undefined ? {} : { bytes }), ...(asset === undefined ? {} : { asset }) };
    const content = await loadContent(source, { ...call, place });
    async function* file(): AsyncGenerator<Uint8Array> {
      if (Buffer.isBuffer(content)) yield content;
      else yield* endWithCall(content, scope);
      // Nothing has changed so far; from here on the answer waits for the outcome.
      scope.commit();
    }
    const { drives, cells, refused, bytes: size } = await shelf.importDrive([file()], options, maker);
    return { drives, bytes: size, cells, refused };
  },
  bytes: ({ bytes }) => bytes,
};
