// Port of operations: the roots they work on, what they learn of a call, and how one is declared.

import type { ArchiveOpener } from "../call/archive.js";
import type { Ability } from "../call/capability.js";
import type { DocumentReader } from "../call/documents.js";
import type { Limits, ReadBudget } from "../call/limits.js";
import type { RelPath } from "../call/path.js";
import type { Scanners } from "../call/scan.js";
import type { CallScope } from "../call/scope.js";
import type { CallTerms } from "../call/terms.js";
import type { TagOf } from "../etag.js";
import type { VersionCache } from "../etag-cache.js";
import type { QuotaFacts } from "../file-config.js";
import type { Awaitable } from "../io.js";
import type { AnswerMemory } from "../memory.js";
import type { Turns } from "../turns.js";
import type { Annotations, OperationMetadata, Rendering, ResolveAsset, StoreAsset } from "./adapter.js";
import type { ApprovalRules } from "./approval.js";
import type { Access, At, Backend, ReadBackend, RootKind } from "./backend.js";
import type { ChangeOrigin, DriveMaker } from "./changes/change.js";
import type { PollChanges } from "./changes/events.js";
import type { Journal, JournalFacts, Lack } from "./changes/journal.js";
import type { DriveShelf } from "./drive-shelf.js";
import type { PathPolicy } from "./path-policy.js";
import type { SandboxExit } from "./sandbox.js";
import type { Transfer } from "./streams.js";
import type { Ticket, TicketRequest } from "./transfer.js";
import type { TreeSource } from "./tree-source.js";

/** Facts about a root that do not depend on the caller. */
export interface RootFacts {
  readonly name: string;
  readonly kind: RootKind;
  readonly readOnly: boolean;
  readonly description?: string | undefined;
  /** Canonical host path; only `file:roots` may show it, if the operator allows that. */
  readonly hostPath?: string | undefined;
  /** Maximum bytes one read in this root returns; absent: the limit of the adapter. */
  readonly maxReadBytes?: number | undefined;
  /** Paths denied to every caller; absent: none. */
  readonly policy?: PathPolicy | undefined;
  /** Paths that every caller may at most read; absent: none. */
  readonly protection?: PathPolicy | undefined;
  /** The patterns of {@link policy} and {@link protection}. */
  readonly patterns?: { readonly deny: readonly string[]; readonly protect: readonly string[] } | undefined;
  /** Changes a person has to allow; absent: none. */
  readonly approve?: ApprovalRules | undefined;
  /** Names that it makes alike are one name. Absent: the root tells all names apart. */
  readonly foldName?: ((name: string) => string) | undefined;
  /** Text encoding; absent: UTF-8, or UTF-16 where a byte order mark announces it. */
  readonly encoding?: string | undefined;
  /** DID of the configured owner. */
  readonly owner?: string | undefined;
  /** Mechanism that confines paths to the root, for the operator. */
  readonly engine?: string | undefined;
  /** Total and available bytes of its file system. */
  usage?(): Promise<{ readonly sizeBytes: number; readonly freeBytes: number }>;
  /** Quota and current usage; absent: no quota. */
  readonly quota?: (() => QuotaFacts) | undefined;
  /** Why replaced content is not kept; opens no journal. Absent: a read-only root or a drive. */
  readonly lack?: (() => Awaitable<Lack | undefined>) | undefined;
  /** Name of the drive behind a personal root, and the directory in it that is the top of the root; absent: its own. */
  readonly drive?: string | undefined;
  readonly subpath?: readonly string[] | undefined;
}

/** Opens the journal of a root at the first look; `undefined`: it cannot be opened, or for `facts` is not open yet. */
export interface RootJournalAccess {
  readonly mode: Journal["mode"];
  open(): Awaitable<Journal | undefined>;
  facts?(): JournalFacts | undefined;
}

/** A named tree the operator configured, opened. */
export interface Root extends RootFacts {
  readonly backend: Backend;
  /** Asks before a command may change what is there; absent: nobody. @returns whether it was allowed @throws APPROVAL_REQUIRED */
  askToRun?(at: At): Promise<boolean>;
  askToPurge?(paths: readonly string[]): void;
  /** Asks before what is at a place is read in order to be taken away. @throws APPROVAL_REQUIRED */
  askToTake?(at: At): Promise<void>;
  /** A source as a copy to a place reads it: whoever is asked about the copy is told what it brings. */
  countSource?(source: TreeSource, to: At): TreeSource;
  /** Absent: its changes are not recorded. */
  readonly journal?: RootJournalAccess | undefined;
}

/** A root that is a separate tree for each caller. */
export interface PersonalRoot extends RootFacts {
  readonly drive: string;
  /** @param owner DID @param isOthers the owner is not the caller: nothing is made for it, and a drive that is not there is missing */
  backendFor(owner: string, isOthers: boolean): Backend;
  readonly journalFor?: ((owner: string) => RootJournalAccess) | undefined;
}

export type OpenRoot = Root | PersonalRoot;

export const isPersonal = (root: OpenRoot | undefined): root is PersonalRoot =>
  root !== undefined && "backendFor" in root;

export interface Call {
  readonly limits: Limits;
  readonly budget: ReadBudget | undefined;
  /** The output may carry its content as bytes. */
  readonly takesBytes: boolean;
  /** Reserves memory before a large answer is built; absent: not counted. */
  readonly memory: AnswerMemory | undefined;
  readonly resolveAsset: ResolveAsset | undefined;
  readonly storeAsset: StoreAsset | undefined;
  readonly openArchive: ArchiveOpener;
  /** An operation on drives that changes something calls its `commit` first; backends do so for all others. */
  readonly scope: CallScope;
  readonly versions: VersionCache;
  /** Writes stamps as tags. Absent: answers contain none. */
  readonly tagOf: TagOf | undefined;
  /** Serialises changes that depend on the content of a file. */
  readonly turns: Turns;
  /** DID of the caller; `undefined`: the operator. */
  readonly caller: string | undefined;
  readonly scanners: Scanners | undefined;
  readonly documents: DocumentReader | undefined;
  readonly terms: CallTerms | undefined;
  /** Present if and only if the operation `streams`. */
  readonly transfer: Transfer | undefined;
  /** Issues a ticket for the current caller. Absent or `undefined`: no HTTP listener accepts tickets. */
  readonly issueTicket: ((request: TicketRequest) => Promise<Ticket | undefined>) | undefined;
}

/** A place an operation needs, as named in its input. */
export interface PlaceRequest {
  readonly root: string;
  readonly path: string;
  /** Directory that `path` is relative to, unless it names the root itself. Absent: the root. */
  readonly base?: string | undefined;
  readonly abilities: readonly Ability[];
  readonly changes: boolean;
  /** Refuses protected paths although the operation itself changes nothing. Default: as `changes`. */
  readonly guarded?: boolean;
  /** The path was made of names of entries: it is not interpreted. */
  readonly isExact?: true;
  /** The place lies in another one of the call, and the record of the call tells of that one. */
  readonly isInside?: true;
  /** As `isExact`, and the record of the call tells nothing of the place. */
  readonly isAside?: boolean;
  /** The root is that of a reference, whatever the roots of the operation are. */
  readonly isReference?: true;
  /** Names that the grammar refuses may be those of entries, to give them others or remove them. */
  readonly anyName?: boolean | undefined;
  /** Former entries count as present when the meaning of the path is decided. */
  readonly isPast?: true;
  /** No link may lead to the place: the path names a real one. @throws CONFLICT */
  readonly isReal?: boolean;
  /** Ids of the journal entries that a change there undoes, for its record. */
  readonly undoes?: readonly string[];
}

/** Resolves and authorises one place without disk access. @throws what a call on that place alone would throw */
export type Resolve = (request: PlaceRequest) => PathCall;

/** Call of an operation on several places, all of which it resolves before it uses any. */
export interface PlacesCall extends Call {
  readonly at: Resolve;
  /** The path that a request means; nothing is authorised. @throws what a place of no valid path would */
  meant(request: PlaceRequest): RelPath;
  /** Every root, and what the caller may do in it. A root that it does not see must not show in an answer. */
  roots(): readonly RootView[];
  /** A drive of the caller that the call names by a reference. @returns `undefined`: it is another's */
  viewOf(drive: Root): RootView | undefined;
  /** Whom records of changes name as their maker. */
  readonly origin: Pick<ChangeOrigin, "actor" | "via">;
}

/** A root as one caller sees it. Personal roots are those of the caller. */
export interface RootView {
  readonly root: Root;
  /** The caller holds a grant in it. */
  readonly isVisible: boolean;
  /** Whether the rights and deny patterns of now allow something at a real path. Never throws. */
  allows(segments: readonly string[], ability: Ability): boolean;
}

/** Call that reads one file, as it is or as it was. */
export interface FileCall extends Call {
  readonly root: RootFacts & { readonly backend: ReadBackend };
  readonly path: RelPath;
  readonly access: Access;
}

/** Call of an operation on a path: resolved lexically, and authorised. */
export interface PathCall extends FileCall {
  /** Present if the operation `watches`, where there is a feed of changes. */
  readonly pollChanges?: PollChanges | undefined;
  readonly root: Root;
  /** Another place that the call turns out to need. */
  readonly at: Resolve;
}

/** Call of an operation on the roots themselves. */
export interface RootsCall extends Call {
  /** Roots in which the caller holds any grant. */
  readonly visible: readonly RootFacts[];
  readonly discloseHostPaths: boolean;
}

/** Authorised call of an operation on the caller's drives themselves. */
export interface DrivesCall extends Call {
  readonly shelf: DriveShelf;
  /** The caller, for changes of whole drives. */
  readonly maker: DriveMaker;
  /** Whether the caller holds any grant in a drive. */
  sees(drive: string): boolean;
}

interface OperationBase<Input, Output>
  extends Pick<
    OperationMetadata,
    "ability" | "also" | "changes" | "annotations" | "hiddenOutput" | "givesBytes" | "renderFields"
  > {
  /** Without the adapter's name: `read`; also the name of its schema. */
  readonly name: string;
  /** Paths may have names that the grammar refuses. */
  readonly anyName?: true;
  /** The operation streams a body: surfaces do not list it, and only calls with a `transfer` can reach it. */
  readonly streams?: true;
  /** The operation only looks, and so at what lies in archives too; all others are refused there. */
  readonly looksInArchives?: true;
  /** Only surfaces of this package run the operation; callers cannot. */
  readonly internal?: true;
  /** The operation waits on the feed of changes: its calls do not count against the limit of running calls. */
  readonly watches?: true;
  /** Milliseconds that its call may wait on top of its deadline. */
  waitsMs?(input: Input): number;
  /** The operation lasts as long as a command; such operations have a concurrency limit of their own. */
  readonly runs?: true;
  /** Input fields whose values are file content. */
  readonly hidden?: readonly string[];
  /** Milliseconds after which it returns a partial answer; the deadline of its call is extended beyond that. */
  patienceMs?(input: Input, limits: Limits): number;
  /** Checks what the schema cannot express. @throws INVALID_INPUT */
  check?(input: Input): void;
  /** File bytes transferred, for the audit record. */
  bytes?(output: Output): number;
  /** How the command ended, for the audit record. */
  exitOf?(output: Output): SandboxExit;
  /** Input fields that a surface for models sets where the caller leaves them out. */
  readonly modelDefaults?: Readonly<Partial<Input>>;
  /** Present when the answer has a body or a long list. */
  render?(output: Output, input: Input): Rendering;
}

/** One operation: one file in `ops/`, one schema, one test, one line in the registry. */
export type Operation<Input, Output> =
  | (OperationBase<Input, Output> & { readonly on: "path"; run(input: Input, call: PathCall): Awaitable<Output> })
  | (OperationBase<Input, Output> & { readonly on: "roots"; run(input: Input, call: RootsCall): Awaitable<Output> })
  | (OperationBase<Input, Output> & { readonly on: "places"; run(input: Input, call: PlacesCall): Awaitable<Output> })
  | DriveOperation<Input, Output>;

/** One operation on whole drives. */
export type DriveOperation<Input, Output> = OperationBase<Input, Output> & {
  readonly on: "drives";
  /** Whether a call concerns all drives of the caller, even if it names one. */
  isOnAllDrives?(input: Input): boolean;
  /** The drive that a checked input names, if not just `drive`. */
  driveOf?(input: Input): string;
  run(input: Input, call: DrivesCall): Promise<Output>;
};

/** An operation with its types erased: the dispatcher checks the input by schema and passes the output through. */
export type AnyOperation = Operation<unknown, unknown>;

/** Annotations of a read-only operation. */
export const LOOKS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** What an operation that only looks declares. */
export const READS = { ability: "crud/read", changes: false, annotations: LOOKS } as const;
