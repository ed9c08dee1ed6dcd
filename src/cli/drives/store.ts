// The commands `drive ls`, `drive verify` and `drive gc`.

import { adapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { DriveCheck } from "../../core/ports/drive-shelf.js";
import { EXIT, print } from "../context.js";
import { jsonText } from "../output/json.js";
import { table } from "../output/table.js";
import { createProgress } from "../progress.js";
import type { DriveUser, DriveWork } from "./context.js";

/** Cells younger than this may belong to a change in progress, so collecting them is unsafe. */
const SAFE_GRACE_SECONDS = 3600;

/** `venue-files drive ls`: lists the drives of one user, or of all users. */
export async function listDrives(
  { user, json }: { readonly user: DriveUser | undefined; readonly json: boolean },
  work: DriveWork,
): Promise<number> {
  const { drives, context } = work;
  const dids = user === undefined ? await usersOf(work) : [work.didOf(user)];
  const rows: string[][] = [];
  for (const did of dids) {
    const names = await drives.engine.owner(did).list();
    if (json) await print(context, `${jsonText({ user: did, drives: names })}\n`);
    else rows.push(...names.map((name) => (user === undefined ? [did, escapeText(name)] : [escapeText(name)])));
  }
  if (rows.length > 0) await print(context, `${table(rows).replace(/^ {2}/gm, "")}\n`);
  else if (!json) context.stderr.write("There are no drives\n");
  return EXIT.ok;
}

async function usersOf({ drives }: DriveWork): Promise<string[]> {
  const dids: string[] = [];
  for await (const did of drives.store.keys.dids()) dids.push(did);
  return dids.sort();
}

interface VerifyTask {
  readonly user: DriveUser;
  readonly drive: string | undefined;
  readonly clampTimes: boolean;
  readonly json: boolean;
}

/** `venue-files drive verify`: reads everything. Exit status 1 if anything is damaged. */
export async function verifyDrives(command: VerifyTask, work: DriveWork): Promise<number> {
  const { context } = work;
  const owner = work.of(command.user);
  const all = await owner.list();
  if (command.drive !== undefined && !all.includes(command.drive)) throw noDrive(command.drive);
  const clamped = command.clampTimes ? await owner.clampTimes(command.drive) : undefined;
  if (clamped !== undefined && !command.json) await print(context, describeClamped(clamped));
  const progress = createProgress(context);
  let damaged = 0;
  try {
    for (const drive of command.drive === undefined ? all : [command.drive]) {
      const report = await owner.verify(drive, ({ bytes }) => progress.at(bytes));
      progress.end();
      damaged += report.damagedCount + (report.history.damaged ? 1 : 0);
      const paths = report.damaged.map((path) => path.join("/"));
      if (command.json)
        await print(context, `${jsonText({ drive, ...report, damaged: paths, ...clampedPart(clamped, drive) })}\n`);
      else await print(context, describe(drive, report, paths));
    }
  } finally {
    progress.end();
  }
  return damaged === 0 ? EXIT.ok : EXIT.failed;
}

const clampedPart = (clamped: ReadonlyMap<string, number> | undefined, drive: string) =>
  clamped === undefined ? {} : { clamped: clamped.get(drive) ?? 0 };

function describeClamped(clamped: ReadonlyMap<string, number>): string {
  if (clamped.size === 0) return "No time lies ahead of the clock\n";
  const lines = Array.from(
    clamped,
    ([drive, count]) => `${escapeText(drive)}: ${counted(count, "time")} ahead of the clock, set to now\n`,
  );
  return lines.join("");
}

interface Counts extends Pick<DriveCheck, "files" | "directories" | "bytes" | "damagedCount"> {
  readonly history: { readonly damaged: boolean };
}

function describe(
  drive: string,
  { files, directories, bytes, damagedCount, history }: Counts,
  paths: readonly string[],
): string {
  const counts = `${counted(files, "file")}, ${counted(directories, "directory", "directories")}, ${counted(bytes, "byte")}`;
  const past = history.damaged ? "  its history is damaged: not everything can be undone\n" : "";
  if (damagedCount === 0) return `${escapeText(drive)}: whole. ${counts}\n${past}`;
  const more = damagedCount > paths.length ? `  and ${damagedCount - paths.length} more\n` : "";
  const named = paths.map((path) => `  ${path === "" ? "/" : escapeText(path)}\n`).join("");
  return `${escapeText(drive)}: ${damagedCount} damaged. Whole are ${counts}\n${named}${more}${past}`;
}

const noDrive = (drive: string): Error =>
  adapterError("NOT_FOUND", `There is no drive '${escapeText(drive)}'`, { root: drive, path: "" });

interface CollectTask {
  readonly graceSeconds: number;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** `venue-files drive gc`: removes unreferenced cells. Exit status 1, removing nothing, if the store is damaged. */
export async function collectDrives(
  { graceSeconds, dryRun, json }: CollectTask,
  { drives, context }: DriveWork,
): Promise<number> {
  if (graceSeconds < SAFE_GRACE_SECONDS && !dryRun)
    context.stderr.write(
      "Warning: with so short a --grace, stop the venue first: changes under way could be damaged\n",
    );
  const report = await drives.store.collect({ graceMs: graceSeconds * 1000, dryRun });
  const { removed, removedBytes, live, missing } = report;
  const what = dryRun ? "Would remove" : "Removed";
  const text = json
    ? `${jsonText({ ...report, dryRun })}\n`
    : `${what} ${counted(removed, "cell")}, ${counted(removedBytes, "byte")}; in use: ${live}\n`;
  await print(context, text);
  if (missing === 0) return EXIT.ok;
  context.stderr.write(
    `${counted(missing, "cell")} missing or damaged, so that nothing is removed. See: drive verify\n`,
  );
  return EXIT.failed;
}

/** `venue-files drive upgrade`: raises the format of the store. */
export async function upgradeDrives(json: boolean, { drives, context }: DriveWork): Promise<number> {
  const { format } = drives.store;
  const { from, to } = (await drives.store.upgrade?.()) ?? { from: format, to: format };
  const text =
    from === to
      ? `The store of the drives has format ${to}, the newest that this version knows`
      : `The store of the drives has format ${to} now, instead of ${from}. Older versions can no longer read it`;
  await print(context, json ? `${jsonText({ from, to })}\n` : `${text}\n`);
  return EXIT.ok;
}
