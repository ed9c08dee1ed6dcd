// All operations, grouped by the adapter or surface that offers them.

import type { AnyOperation } from "../core/ports/operation.js";
import { append } from "./append.js";
import { extract } from "./archives/extract.js";
import { listArchive } from "./archives/list.js";
import { zip } from "./archives/zip.js";
import { copy } from "./copy.js";
import { copyOnDrives, moveOnDrives } from "./copying/on-drives.js";
import { create } from "./create.js";
import { deleteEntry } from "./delete.js";
import { download } from "./download.js";
import { createDrive, deleteDrive, listDrives } from "./drives/drives.js";
import { exportDrive, exportDriveKey, importDrive, verifyDrive } from "./drives/whole-drives.js";
import { du } from "./du.js";
import { edit } from "./edit.js";
import { exec } from "./exec.js";
import { glob } from "./glob.js";
import { grep } from "./grep.js";
import { hash } from "./hash.js";
import { history } from "./history.js";
import { list } from "./list.js";
import { mkdir } from "./mkdir.js";
import { move } from "./move.js";
import { patch } from "./patch.js";
import { purge } from "./purge.js";
import { read } from "./read.js";
import { readMany } from "./readMany.js";
import { restore } from "./restore.js";
import { roots } from "./roots.js";
import { stat } from "./stat.js";
import { touch } from "./touch.js";
import { transfer } from "./transfer.js";
import { trash } from "./trash.js";
import { tree } from "./tree.js";
import { undo } from "./undo.js";
import { upload } from "./upload.js";
import { watch } from "./watch.js";
import { write } from "./write.js";

/** The operations of the file adapter, in the order in which they are listed. */
export const OPERATIONS: readonly AnyOperation[] = [
  ...[
    roots,
    list,
    tree,
    read,
    readMany,
    stat,
    hash,
    glob,
    grep,
    create,
    write,
    edit,
    patch,
    append,
    mkdir,
    move,
    copy,
    deleteEntry,
    du,
    history,
    undo,
    restore,
    trash,
    purge,
    watch,
    transfer,
  ],
];

/** Operations that stream whole files, run commands, or are offered to no caller; for surfaces that support it. */
export const STREAM_OPERATIONS: readonly AnyOperation[] = [download, upload, exec, touch];

/** The operations of the adapter `archive`. */
export const ARCHIVE_OPERATIONS: readonly AnyOperation[] = [listArchive, extract, zip];

/** The operations of the adapter `dlfs`: three on whole drives, and those on files. */
export const DRIVE_OPERATIONS: readonly AnyOperation[] = [
  ...[listDrives, createDrive, deleteDrive],
  ...[list, tree, read, create, write, append, mkdir, moveOnDrives, copyOnDrives, deleteEntry, stat],
];

/** The operations of the adapter `dlfs` that only surfaces of this package run. */
export const DRIVE_STREAM_OPERATIONS: readonly AnyOperation[] = [download, upload, touch, du];

/** The operations that export, import and verify whole drives. */
export const TRANSFER_OPERATIONS: readonly AnyOperation[] = [exportDrive, importDrive, verifyDrive];

/** The operations that export keys, if the operator allows it. */
export const KEY_OPERATIONS: readonly AnyOperation[] = [exportDriveKey];
