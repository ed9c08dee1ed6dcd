// The commands `drive export`, `drive import` and `drive merge`.

import { newGroupId } from "../../core/entry-id.js";
import { adapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { DriveMaker } from "../../core/ports/changes/change.js";
import { viaOf } from "../../dispatch/call/changes.js";
import type { DriveCommand } from "../arguments/commands/drives.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, EXIT, print, STREAM } from "../context.js";
import { jsonText } from "../output/json.js";
import { createProgress } from "../progress.js";
import type { DriveWork } from "./context.js";
import { createExportFiles, type ExportFiles, readFileOf } from "./files.js";

type ExportCommand = Extract<DriveCommand, { name: "drive export" }>;
type ImportCommand = Extract<DriveCommand, { name: "drive import" | "drive merge" }>;

/** @throws UsageError if binary output would go to a terminal */
export function checkExport({ file }: ExportCommand, { stdout }: Pick<CommandContext, "stdout">): void {
  if (file !== STREAM || stdout.isTTY !== true) return;
  throw new UsageError("The export would be shown on this terminal. Name a file, or pipe it");
}

/** `venue-files drive export`: writes all drives of a user, or one, to files. */
export async function exportDrives(command: ExportCommand, work: DriveWork): Promise<number> {
  const { file, drive, top, region, partBytes, json, user } = command;
  const { context } = work;
  const progress = createProgress(context);
  const files = file === STREAM ? onStdout(context) : createExportFiles(file, partBytes !== undefined, context);
  let bytes = 0;
  try {
    const what = { top, ...(drive === undefined ? {} : { drive }), ...(region === undefined ? {} : { region }) };
    const options = { ...what, ...(partBytes === undefined ? {} : { partBytes }) };
    for await (const piece of work.of(user).exportDrive(options)) {
      bytes += piece.bytes.length;
      progress.at(bytes);
      await files.write(piece);
    }
    const names = await files.finish();
    progress.end();
    const text = json
      ? `${jsonText({ files: names, bytes, top })}\n`
      : `Exported ${drive === undefined ? "all drives" : escapeText(drive)}: ${bytes} bytes in ${names.map(escapeText).join(", ")}\n`;
    if (file !== STREAM) await print(context, text);
    return EXIT.ok;
  } catch (error) {
    progress.end();
    await files.discard();
    throw error;
  }
}

const onStdout = (context: Pick<CommandContext, "stdout">): ExportFiles => ({
  write: ({ bytes }) => print(context, bytes),
  finish: async () => [STREAM],
  discard: async () => {},
});

/** `venue-files drive import` and `merge`: imports the files of one export, all or nothing. */
export async function importDrives(command: ImportCommand, work: DriveWork): Promise<number> {
  const { files, drive, from, source, user, json } = command;
  const { context } = work;
  const owner = work.of(user);
  if (command.name === "drive merge" && !(await owner.list()).includes(command.drive))
    throw nothingToMerge(command.drive);
  const progress = createProgress(context);
  const options = {
    ...(drive === undefined ? {} : { drive }),
    ...(from === undefined ? {} : { from }),
    ...(source === undefined ? {} : { source }),
  };
  try {
    const read = files.map((name) => progress.through(readFileOf(name, context)));
    const report = await owner.importDrive(read, options, operatorFor(command.name.slice("drive ".length)));
    progress.end();
    const { drives, cells, bytes, refused } = report;
    const into = drives.map(escapeText).join(", ");
    await print(context, json ? `${jsonText(report)}\n` : `Imported into ${into}: ${cells} cells, ${bytes} bytes\n`);
    if (refused > 0)
      context.stderr.write(`Warning: ${refused} owners were left out, since their signature is not good\n`);
    return EXIT.ok;
  } finally {
    progress.end();
  }
}

/** The operator, in the log of the drives. */
function operatorFor(op: string): DriveMaker {
  let group: string | undefined;
  const origin = { scheme: "dlfs", op, actor: "operator", via: viaOf({}), surface: "cli" } as const;
  return {
    originIn: (root) => ({ ...origin, root, ...(group === undefined ? {} : { group }) }),
    beginGroup() {
      group ??= newGroupId(Date.now());
    },
    changed() {},
  };
}

const nothingToMerge = (drive: string): Error =>
  adapterError("NOT_FOUND", `There is no drive '${escapeText(drive)}' to merge into. 'drive import' makes it`, {
    root: drive,
    path: "",
  });
