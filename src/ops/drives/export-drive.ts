import { contentTooLarge, invalidInput } from "../../core/errors/texts.js";
import type { Rendering } from "../../core/ports/adapter.js";
import type { DriveExport } from "../../core/ports/drive-shelf.js";
import { type DriveOperation, LOOKS } from "../../core/ports/operation.js";

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
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
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
