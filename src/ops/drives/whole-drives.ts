// Operations on the content of whole drives: export, import, verification, and the key that signs them.

import { endWithCall } from "../../core/call/end-with-call.js";
import { contentTooLarge, invalidInput } from "../../core/errors/texts.js";
import type { Rendering } from "../../core/ports/adapter.js";
import type { DriveCheck, DriveExport, DriveImport, DriveImported, DriveKey } from "../../core/ports/drive-shelf.js";
import { type DriveOperation, READS } from "../../core/ports/operation.js";
import { loadContent } from "../content/content.js";

interface ExportOutput {
  readonly content: string;
  readonly encoding: "base64";
  readonly size: number;
  readonly top: NonNullable<DriveExport["top"]>;
}

const ADVICE = "Export to a file with 'venue-files drive export', or one drive with top: 'drive'";
const MIME = "application/octet-stream";

const topOf = ({ top = "signed" }: DriveExport): ExportOutput["top"] => top;

/** `export`: all drives of the caller, or one, as bytes that `import` can read. */
export const exportDrive: DriveOperation<DriveExport, ExportOutput> = {
  name: "export",
  on: "drives",
  ...READS,
  check(input) {
    if (topOf(input) === "drive" && input.drive === undefined)
      throw invalidInput("'drive' is required with top: 'drive'", "/drive", "the name of a drive");
    if (topOf(input) !== "drive" && input.drive !== undefined)
      throw invalidInput("'drive' needs top: 'drive': every other export is of all drives", "/drive", "no drive");
    if (topOf(input) !== "region" && input.region !== undefined)
      throw invalidInput("'region' needs top: 'region'", "/region", "no region");
  },
  // A signature covers all drives of its owner, so a signed export must contain all of them.
  isOnAllDrives: (input) => topOf(input) !== "drive",
  async run(input, { shelf, scope, limits, budget }) {
    const limit = Math.min(budget?.maxBytes ?? limits.maxReadBytes, limits.maxReadBytes);
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const { bytes } of shelf.exportDrive(input)) {
      scope.checkpoint();
      size += bytes.length;
      if (size > limit) throw contentTooLarge({ root: input.drive ?? "", path: "" }, size, limit, ADVICE);
      pieces.push(bytes);
    }
    return { content: Buffer.concat(pieces).toString("base64"), encoding: "base64", size, top: topOf(input) };
  },
  bytes: ({ size }) => size,
  render: ({ content, ...rest }, { drive = "" }): Rendering => ({
    kind: "blob",
    base64: content,
    mime: MIME,
    uri: `dlfs://${encodeURIComponent(drive)}`,
    rest,
  }),
};

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
  async run({ bytes, asset, ...options }, { shelf, maker, ...call }) {
    const place = { root: options.drive ?? "", path: "" };
    const source = { ...(bytes === undefined ? {} : { bytes }), ...(asset === undefined ? {} : { asset }) };
    const content = await loadContent(source, { ...call, place });
    async function* file(): AsyncGenerator<Uint8Array> {
      if (Buffer.isBuffer(content)) yield content;
      else yield* endWithCall(content, call.scope);
      // The drives change only from here on: the answer now waits for the outcome.
      call.scope.commit();
    }
    const { drives, cells, refused, bytes: size } = await shelf.importDrive([file()], options, maker);
    return { drives, bytes: size, cells, refused };
  },
  bytes: ({ bytes }) => bytes,
};

/** `export-key`: the key that signs the caller's drives, for moving them elsewhere. The operator must allow it. */
export const exportDriveKey: DriveOperation<Readonly<Record<string, never>>, DriveKey> = {
  name: "export-key",
  on: "drives",
  ...READS,
  // The holder of the key can sign any content of the drives.
  also: ["crud/write", "crud/delete"],
  hiddenOutput: ["seed"],
  isOnAllDrives: () => true,
  run: (_, { shelf }) => shelf.exportKey(),
};

type VerifyOutput = Omit<DriveCheck, "damaged"> & { readonly damaged: readonly string[] };

/** `verify`: reads everything in a drive and reports what is damaged. */
export const verifyDrive: DriveOperation<{ drive: string }, VerifyOutput> = {
  name: "verify",
  on: "drives",
  ...READS,
  async run({ drive }, { shelf, scope }) {
    const { damaged, ...report } = await shelf.verify(drive, () => scope.checkpoint());
    return { ...report, damaged: damaged.map((path) => path.join("/")) };
  },
  bytes: ({ bytes }) => bytes,
};
