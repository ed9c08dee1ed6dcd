// The commands `drive export`, `drive import` and `drive merge`.

import { createReadStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { newGroupId } from "../../core/entry-id.js";
import { adapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { DriveMaker } from "../../core/ports/changes/change.js";
import { viaOf } from "../../dispatch/call/state.js";
import type { ExportPiece } from "../../drive/engine/engine.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, codeOf, EXIT, print, STREAM } from "../context.js";
import { jsonText } from "../output/json.js";
import { type NewFile, openNewFile } from "../output/new-file.js";
import { createProgress } from "../progress.js";
import type { DriveUser, DriveWork } from "./context.js";

interface ExportTask {
  readonly user: DriveUser;
  /** `-`: standard output. */
  readonly file: string;
  readonly drive: string | undefined;
  readonly top: "signed" | "drive" | "owners" | "region";
  readonly region: "dlfs" | "fs" | undefined;
  readonly partBytes: number | undefined;
  readonly json: boolean;
}

interface ImportTask {
  readonly user: DriveUser;
  /** All parts of one export, in order; `-`: standard input. */
  readonly files: readonly string[];
  readonly drive: string | undefined;
  readonly from: string | undefined;
  readonly source: "reference" | undefined;
  readonly json: boolean;
}

/** @throws UsageError if binary output would go to a terminal */
export function checkExport(file: string, { stdout }: Pick<CommandContext, "stdout">): void {
  if (file !== STREAM || stdout.isTTY !== true) return;
  throw new UsageError("The export would be shown on this terminal. Name a file, or pipe it");
}

/** `venue-files drive export`: writes all drives of a user, or one, to files. */
export async function exportDrives(command: ExportTask, work: DriveWork): Promise<number> {
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
      : `Exported ${drive === undefined ? "all drives" : escapeText(drive)}: ${counted(bytes, "byte")} in ${names.map(escapeText).join(", ")}\n`;
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

/** `venue-files drive merge`: imports into a drive that is there. */
export async function mergeDrives(task: ImportTask & { readonly drive: string }, work: DriveWork): Promise<number> {
  if (!(await work.of(task.user).list()).includes(task.drive)) throw nothingToMerge(task.drive);
  return importDrives("merge", task, work);
}

/** `venue-files drive import`: imports the files of one export, all or nothing. @param verb of the log of the drives */
export async function importDrives(verb: "import" | "merge", task: ImportTask, work: DriveWork): Promise<number> {
  const { files, drive, from, source, user, json } = task;
  const { context } = work;
  const owner = work.of(user);
  const progress = createProgress(context);
  const options = {
    ...(drive === undefined ? {} : { drive }),
    ...(from === undefined ? {} : { from }),
    ...(source === undefined ? {} : { source }),
  };
  try {
    const read = files.map((name) => progress.through(readFileOf(name, context)));
    const report = await owner.importDrive(read, options, operatorFor(verb));
    progress.end();
    const { drives, cells, bytes, refused } = report;
    const into = drives.map(escapeText).join(", ");
    await print(
      context,
      json ? `${jsonText(report)}\n` : `Imported into ${into}: ${counted(cells, "cell")}, ${counted(bytes, "byte")}\n`,
    );
    if (refused > 0)
      context.stderr.write(`Warning: ${counted(refused, "owner")} left out, since their signature is not good\n`);
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

// Reads and writes the files of drive exports.

const READ_BYTES = 2 ** 20;
/** Buffer size that combines small writes, in bytes. */
const WRITE_BYTES = 2 ** 20;
const EXTENSION = /(\.[^./\\]*)?$/;

/** Target files of an export. */
interface ExportFiles {
  write(piece: ExportPiece): Promise<void>;
  /** Durable when resolved. @returns the names as given on the command line */
  finish(): Promise<readonly string[]>;
  /** Removes the files created so far. */
  discard(): Promise<void>;
}

/** Creates new files, mode 0600, never overwriting one; each has its name once it is whole. @param inParts whether to number the names */
function createExportFiles(file: string, inParts: boolean, { cwd }: Pick<CommandContext, "cwd">): ExportFiles {
  const made: { readonly name: string; readonly path: string }[] = [];
  let open: NewFile | undefined;
  let part = -1;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const nameOf = (index: number): string => (inParts ? numberedName(file, index + 1) : file);
  const flush = async (): Promise<void> => {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    if (bytes.length > 0) await open?.handle.writeFile(bytes);
  };
  const end = async (): Promise<void> => {
    await flush();
    if (open === undefined) return;
    await open.publish();
    const name = nameOf(part);
    made.push({ name, path: resolve(cwd, name) });
    await open.close();
    open = undefined;
  };
  const begin = async (next: number): Promise<void> => {
    await withFileErrors(nameOf(part), "cannot be written", end);
    const name = nameOf(next);
    open = await withFileErrors(name, "cannot be made", () => openNewFile(resolve(cwd, name), { mode: 0o600 }));
    part = next;
  };
  return {
    async write({ part: next, bytes }) {
      if (next !== part) await begin(next);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= WRITE_BYTES) await withFileErrors(file, "cannot be written", flush);
    },
    async finish() {
      await withFileErrors(nameOf(part), "cannot be written", end);
      return made.map(({ name }) => name);
    },
    async discard() {
      await open?.close().catch(() => undefined);
      for (const { path } of made) await unlink(path).catch(() => undefined);
    },
  };
}

/** `notes.cad3` → `notes.0001.cad3`, so that a shell lists the parts in order. */
const numberedName = (file: string, count: number): string =>
  file.replace(EXTENSION, (extension) => `.${String(count).padStart(4, "0")}${extension}`);

/** Streams a local file or standard input. */
async function* readFileOf(
  name: string,
  { cwd, stdin }: Pick<CommandContext, "cwd" | "stdin">,
): AsyncGenerator<Uint8Array> {
  if (name === STREAM) {
    for await (const piece of stdin) yield piece instanceof Uint8Array ? piece : Buffer.from(String(piece));
    return;
  }
  const stream = createReadStream(resolve(cwd, name), { highWaterMark: READ_BYTES });
  try {
    for await (const piece of stream) yield piece;
  } catch (error) {
    throw toConfigError(name, "cannot be read", error);
  } finally {
    stream.destroy();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "something is there already, and is not overwritten",
  ENOENT: "no such file or folder",
  EISDIR: "it is a directory",
  ENOTDIR: "no such folder",
  EACCES: "permission denied",
  ENOSPC: "no space left",
};

async function withFileErrors<T>(name: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toConfigError(name, what, error);
  }
}

/** Converts system errors; other errors pass unchanged. */
function toConfigError(name: string, what: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  const status = code === "EEXIST" ? EXIT.config : EXIT.noInput;
  return new ConfigError([`${escapeText(name)} ${what}: ${REASONS[code] ?? code}`], status);
}
