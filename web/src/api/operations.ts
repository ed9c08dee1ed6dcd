// Names, inputs and outputs of the operations that the page calls, beside those of files, which are generated.

import type { FileInputs, FileOutputs } from "../../../src/schema/types.js";

export type Json = Readonly<Record<string, unknown>>;

export interface Grant {
  readonly with: string;
  readonly can: string;
}

export interface WhoAmI {
  readonly did: string;
  readonly authentication: string;
  readonly operator: boolean;
  readonly venue: string;
  readonly grants: readonly Grant[];
  readonly grantsTruncated: boolean;
  /** Seconds since the epoch. */
  readonly expires?: number;
  /** Id of the access token or session. */
  readonly via?: string;
}

export interface IssuedUcan {
  readonly token: string;
  readonly id: string;
  /** Seconds since the epoch. */
  readonly expires: number;
}

export interface IssuedToken {
  readonly id: string;
  readonly did: string;
  readonly expires: number;
  readonly token?: string;
  readonly url?: string;
}

export interface AccessEntry {
  readonly kind: string;
  readonly id?: string;
  readonly label?: string;
  readonly did?: string;
  readonly by?: string;
  readonly grants: readonly Grant[];
  readonly created?: number;
  readonly expires?: number;
  readonly lastUsed?: number;
  readonly revoked?: number;
  /** A link that was not used yet. */
  readonly pending?: boolean;
}

export interface Page {
  readonly complete: boolean;
  readonly nextCursor?: string;
  readonly cursor?: string;
  /** Why it is not complete, for people. */
  readonly hint?: string;
}

/** The entry at a place before or after a change, as far as it is shown. */
export interface ApprovedState {
  /** Entries below a folder. */
  readonly entries?: number;
  /** The first of them. */
  readonly names?: readonly string[];
}

export interface Approval {
  readonly id: string;
  readonly operation: string;
  readonly caller?: string;
  readonly by?: string;
  readonly root?: string;
  readonly created?: number;
  readonly expires: number;
  readonly effect: readonly {
    readonly root?: string;
    readonly path: string;
    /** Where links lead to, if elsewhere. */
    readonly real?: string;
    readonly action: string;
    readonly to?: string;
    readonly toReal?: string;
    readonly before?: ApprovedState;
    readonly after?: ApprovedState;
  }[];
  /** Effects beyond those. */
  readonly more?: number;
  readonly diff?: string;
  readonly state?: string;
}

/** A call, as the audit tells it. */
export interface AuditRecord {
  /** Milliseconds since the epoch, at the end of the call. */
  readonly time: number;
  readonly caller: string;
  readonly operation: string;
  readonly via?: string;
  /** `<root>/<path>`, or what the operation acts on. */
  readonly resource: string;
  readonly outcome: string;
  readonly bytes?: number;
  readonly ms: number;
  readonly job?: string;
  readonly denied?: {
    readonly required: Grant;
    readonly have: readonly Grant[];
    /** There are more than those. */
    readonly more?: boolean;
  };
}

/** A version of a file in the history. */
export interface FileVersion {
  readonly etag?: string;
  readonly size: number;
  readonly mode?: number;
  readonly modified: number;
}

export interface HistoryEntry {
  readonly id: string;
  readonly time: number;
  readonly op: string;
  readonly root: string;
  readonly path: string;
  readonly fromRoot?: string;
  readonly from?: string;
  readonly kind: "file" | "directory" | "link";
  readonly actor: string;
  readonly via?: string;
  readonly group?: string;
  readonly files?: number;
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
  readonly undoable: boolean;
  readonly reason?: string;
  readonly undoneBy?: string;
}

export interface Blocked {
  readonly id: string;
  readonly path: string;
  readonly by?: string;
  readonly laterId?: string;
}

export interface UndoResult {
  readonly undone: readonly string[];
  readonly id?: string;
  readonly group?: string;
  readonly files: readonly { readonly path: string; readonly etag: string | null }[];
  readonly diff?: string;
  readonly diffTruncated?: boolean;
  readonly blocked?: readonly Blocked[];
}

export interface TrashEntry {
  readonly id: string;
  readonly path: string;
  readonly kind: string;
  readonly size?: number;
  readonly deleted: number;
  readonly by?: string;
}

/** Operations that the generated types do not have. */
interface MoreInputs {
  readonly "file:read": { readonly version?: string };
  readonly "file:stat": { readonly version?: string };
}

/** A lock of a WebDAV client. Times are milliseconds since the epoch. */
export interface DavLock {
  readonly id: string;
  readonly root?: string;
  readonly drive?: string;
  readonly path: string;
  readonly owner: string;
  readonly holder: string;
  readonly since: number;
  readonly until: number;
}

interface OtherInputs {
  readonly "auth:whoami": Record<string, never>;
  readonly "auth:issue": {
    readonly label: string;
    readonly caps?: readonly Grant[];
    readonly lifetimeSeconds?: number;
    readonly link?: boolean;
  };
  readonly "auth:list": { readonly kind?: string; readonly cursor?: string; readonly limit?: number };
  readonly "auth:revoke": { readonly id: string; readonly keep?: boolean };
  readonly "ucan:issue": { readonly aud: string; readonly att: readonly Grant[]; readonly lifetimeSeconds: number };
  readonly "audit:query": Json;
  readonly "approval:list": Json;
  readonly "approval:get": { readonly id: string };
  readonly "approval:decide": { readonly id: string; readonly decision: "once" | "deny"; readonly note?: string };
  readonly "lock:list": Json;
  readonly "lock:drop": { readonly id: string };
  readonly "file:history": Json;
  readonly "file:undo": Json;
  readonly "file:restore": {
    readonly root: string;
    readonly path: string;
    readonly to: string;
    readonly ifMatch?: string;
  };
  readonly "file:trash": { readonly root: string; readonly path?: string; readonly cursor?: string };
  readonly "file:purge": { readonly root: string; readonly ids: readonly string[] };
}

interface OtherOutputs {
  readonly "auth:whoami": WhoAmI;
  readonly "auth:issue": IssuedToken;
  readonly "auth:list": Page & { readonly entries: readonly AccessEntry[] };
  readonly "auth:revoke": { readonly revoked: boolean; readonly id: string };
  readonly "ucan:issue": IssuedUcan;
  readonly "audit:query": Page & { readonly records: readonly AuditRecord[] };
  readonly "approval:list": Page & { readonly approvals: readonly Approval[] };
  readonly "approval:get": Approval;
  readonly "approval:decide": Json;
  readonly "lock:list": { readonly locks: readonly DavLock[] };
  readonly "lock:drop": { readonly id: string };
  readonly "file:history": Page & { readonly entries: readonly HistoryEntry[]; readonly reason?: string };
  readonly "file:undo": UndoResult;
  readonly "file:restore": { readonly etag?: string };
  readonly "file:trash": Page & { readonly entries: readonly TrashEntry[] };
  readonly "file:purge": { readonly purged: number };
}

export type OperationName = Exclude<keyof FileInputs, keyof OtherInputs> | keyof OtherInputs;

export type Inputs = Omit<FileInputs, keyof MoreInputs | keyof OtherInputs> &
  OtherInputs & { readonly [Name in keyof MoreInputs]: FileInputs[Name] & MoreInputs[Name] };

export type Outputs = Omit<FileOutputs, keyof OtherOutputs> & OtherOutputs;
