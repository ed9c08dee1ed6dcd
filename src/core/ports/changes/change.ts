// Port of committed changes: the record that a backend reports of each one, and the sinks that take it.

import type { Sha256 } from "../../etag.js";

/** `other`: a socket, a FIFO or a device. */
export type ChangedKind = "file" | "directory" | "link" | "other";
export type ChangeAction = "created" | "modified" | "deleted" | "moved";

/** One entry before or after a change, as far as it is known without reading it. */
export interface EntryState {
  /** Bytes; 0 unless it is a file. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Permission bits; absent where the backend has none. */
  readonly mode?: number;
  /** Hash of the whole content of a file, where all of it was seen. */
  readonly sha256?: Sha256;
  /** Identity, size and times as one text. While an entry has the same version, nothing changed it. Host roots only. */
  readonly version?: string;
}

/** Content added at the end of a file; the content before it is its first `offset` bytes. */
export interface Addition {
  /** Size in bytes before the append. */
  readonly offset: number;
  /** Hash of the added bytes; absent where no journal is kept. */
  readonly sha256?: Sha256;
}

/** One committed change, as its backend saw it. Paths are real ones: names from the top of the root, links resolved. */
export interface EntryChange {
  readonly action: ChangeAction;
  readonly kind: ChangedKind;
  readonly path: readonly string[];
  /** Where a moved or copied entry came from. */
  readonly from?: readonly string[];
  /** Another root that `from` lies in. */
  readonly fromRoot?: string;
  /** Directories that were made on the way, outermost first. */
  readonly made?: readonly (readonly string[])[];
  /** Files in a copied tree. */
  readonly files?: number;
  /** `null`: nothing was there. */
  readonly before: EntryState | null;
  /** `null`: nothing is there. */
  readonly after: EntryState | null;
  /** Present for an append. */
  readonly addition?: Addition;
  /** Id of its entry in the journal of the root. */
  readonly id?: string;
  /** The journal has not kept what was there. */
  readonly isLost?: true;
  /** Changes of others may be among it: the changes of a command. */
  readonly mayInclude?: "external";
}

/** Call that made a change, and its caller. */
export interface ChangeOrigin {
  /** Name of the root, as the caller used it; of a drive where `scheme` is `dlfs`. */
  readonly root: string;
  /** `dlfs`: by the operations on drives, whose names are apart from those of roots. */
  readonly scheme: "file" | "dlfs";
  /** DID whose drive it is; absent for roots that all callers share. */
  readonly driveOwner?: string;
  /** Name of the operation: `write`, `move`. */
  readonly op: string;
  /** DID of the caller; `operator` for the operator. */
  readonly actor: string;
  /** Credential or session: id of the access token or of the top UCAN, else one id for each process. */
  readonly via: string;
  /** Surface by which the call arrived: `http`, `mcp`, `cli`, `acp`, `library`, or the name of a profile. */
  readonly surface: string;
  /** Shared by all changes that are undone together; begins with `g`. */
  readonly group?: string;
  /** Ids of the entries that it undid; present for an undo. */
  readonly undoes?: readonly string[];
}

/** One committed change with its origin. */
export interface ChangeRecord extends ChangeOrigin, EntryChange {
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** Called with every committed change of an adapter, at once and in order; must be quick, and must not throw. */
export type ChangeSink = (record: ChangeRecord) => void;

/** Names the origin of changes of whole drives, and is told of each once it is committed. */
export interface DriveMaker {
  /** Asked right before the commit, perhaps several times. */
  originIn(drive: string): ChangeOrigin;
  /** The changes that follow are one group: several drives are changed together. */
  beginGroup(): void;
  changed(drive: string, change: EntryChange): void;
}
