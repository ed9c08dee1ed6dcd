// Entries of a mounted directory that are hidden from commands or read-only for them, and the way to them.

import type { Mask } from "../../../core/ports/sandbox.js";
import type { Name } from "../../../jail/directory.js";
import type { Scan } from "./scan.js";

export interface MaskOptions {
  readonly isWritable: boolean;
  /** The content of the directory just before: places where that scan saw nothing to mask are not searched. */
  readonly scan?: Scan | undefined;
}

/** The masks to mount over entries of a directory. */
export interface FoundMasks {
  readonly masks: readonly Mask[];
  /** Present if the whole directory must be read-only: the number of protected entries, which are too many. */
  readonly tooManyProtected?: number;
}

/** A directory on the way from the mount to the current one. */
export interface Frame {
  readonly below: readonly string[];
  readonly path: Buffer;
  readonly names: readonly Name[];
  next: number;
  /** The directory is mounted read-only, or lies inside one that is. */
  isReadOnly: boolean;
}

/** An entry to hide, with the depths of the directories above it that must be pinned. */
export interface Target extends Mask {
  readonly depth: number;
  readonly anchors: readonly number[];
}

export const depthsAbove = (depth: number): number[] =>
  Array.from({ length: Math.max(0, depth - 1) }, (_, index) => index + 1);

export const targetOf = (frame: Frame, name: Name, kind: Target["kind"]): Target => ({
  ...{ path: pathOf(frame, name), kind, depth: frame.below.length + 1, anchors: [] },
});

export const keyOf = (path: Uint8Array): string => Buffer.from(path).toString("latin1");

export const pathOf = ({ path }: Frame, { raw }: Name): Buffer =>
  Buffer.concat([path, Buffer.from(path.length === 0 ? "" : "/"), Buffer.from(raw as Buffer)]);
