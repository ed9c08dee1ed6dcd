// Published face of `venue-files/drive`: values, cells, drives and their merge.

export { encode, hashOf, isEmbedded } from "./cad3/encoding/cell.js";
export { decode, fromMultiCell, type Resolve, toMultiCell } from "./cad3/encoding/multi-cell.js";
export { LazyValue } from "./cad3/lazy.js";
export type { CellLimits } from "./cad3/limits.js";
export { CadMap, map } from "./cad3/maps/hash-map.js";
export type { IndexKey } from "./cad3/maps/index-key.js";
export { CadIndex, index } from "./cad3/maps/index-map.js";
export { materialize } from "./cad3/materialize.js";
export { Keyword, keyword } from "./cad3/scalar.js";
export { Signed, sign, signedMessage, verify } from "./cad3/signed.js";
export type { Value } from "./cad3/value.js";
export { applyOp, type TreeChange } from "./dlfs/apply-op.js";
export { checkNode, type NodeLimits } from "./dlfs/check-node.js";
export { createDrive, type DriveMoment, deleteDrive, isDeletedDrive } from "./dlfs/lifetime.js";
export { type MergeOptions, merge } from "./dlfs/merge.js";
export { type MergeOwnersOptions, mergeDrives, mergeOwners, type Seeds } from "./dlfs/merge-owners.js";
export { dir, file, type Node, tombstone, type Utime } from "./dlfs/node.js";
export type { DriveErrorCode } from "./error.js";
