import type { Ability } from "../call/capability.js";
import type { Limits, ReadBudget } from "../call/limits.js";
import type { RelPath } from "../call/path.js";
import type { Scanners } from "../call/scan.js";
import type { CallScope, Cancellation } from "../call/scope.js";
import type { CallTerms } from "../call/terms.js";
import type { VersionCache } from "../etag-cache.js";
import type { Quota } from "../file-config.js";
import type { Awaitable } from "../io.js";
import type { AnswerMemory } from "../memory.js";
import type { Annotations, Rendering, ResolveAsset } from "./adapter.js";
import type { Access, Backend, RootKind } from "./backend.js";
import type { DenyPolicy } from "./deny-policy.js";
import type { SandboxExit } from "./sandbox.js";
import type { Ticket, TicketRequest, Transfer } from "./transfer.js";

/** What may be used and what is; the latter only once it has been counted. */
export interface QuotaFacts extends Quota {
  readonly usedBytes?: number;
  readonly usedFiles?: number;
}

/** What can be said of a root whoever asks. */
export interface RootFacts {
  readonly name: string;
  readonly kind: RootKind;
  readonly readOnly: boolean;
  readonly description?: string;
  /** Canonical host path; only `file:roots` may show it, where the operator allows that. */
  readonly hostPath?: string;
  /** Most bytes one read in this root returns; absent: the limit of the adapter. */
  readonly maxReadBytes?: number;
  /** What no caller gets to; absent: there is nothing of that kind. */
  readonly policy?: DenyPolicy;
  /** How text in it is written; absent: UTF-8, or UTF-16 where a file says so. */
  readonly encoding?: string;
  /** DID of whoever owns it, where that was configured. */
  readonly owner?: string;
  /** What keeps paths inside it, for the operator. */
  readonly engine?: string;
  /** The file system it is on: bytes in all, and bytes still to be had. */
  usage?(): Promise<{ readonly sizeBytes: number; readonly freeBytes: number }>;
  /** What its files take, and what they may; absent: no limit. */
  quota?(): QuotaFacts;
  /** Name of the drive that it is, of each caller's own. */
  readonly drive?: string;
}

/** A named tree the operator configured, opened. */
export interface Root extends RootFacts {
  readonly backend: Backend;
}

/** A root that is another tree for each caller. */
export interface PersonalRoot extends RootFacts {
  readonly drive: string;
  /** @param owner DID of who has proved to be it */
  backendFor(owner: string): Backend;
}

export type OpenRoot = Root | PersonalRoot;

export const isPersonal = (root: OpenRoot | undefined): root is PersonalRoot =>
  root !== undefined && "backendFor" in root;

/** The drives of one caller, as far as operations on whole drives go. */
export interface DriveShelf {
  /** Names, in byte order. */
  list(): Promise<readonly string[]>;
  /** `false`: it was there. */
  create(drive: string): Promise<boolean>;
  /** `false`: it was not there. */
  delete(drive: string): Promise<boolean>;
  /** The drives as bytes, while they are read. @throws NOT_FOUND when there are none */
  exportDrive(what: DriveExport): AsyncIterable<{ readonly bytes: Uint8Array }>;
  /** Merges an export into the drives, all or nothing. @param files read once, each to its end */
  importDrive(files: readonly AsyncIterable<Uint8Array>[], options: DriveImport): Promise<DriveImported>;
  /** The key that signs the drives. @throws NOT_FOUND when there is none yet, READ_ONLY_ROOT when it cannot be opened */
  exportKey(): Promise<DriveKey>;
  /** Reads a whole drive. @param onStep called before each part of it; what it throws ends the reading */
  verify(drive: string, onStep: () => void): Promise<DriveCheck>;
}

/** Both in 64 hex digits. */
export interface DriveKey {
  readonly publicKey: string;
  /** Whoever has it can sign drives for ever. */
  readonly seed: string;
}

/** What an export is of: all drives of the caller, signed (default) or as peers keep them, or one. */
export interface DriveExport {
  readonly top?: "signed" | "drive" | "owners" | "region";
  readonly drive?: string;
  readonly region?: "dlfs" | "fs";
}

/** Where an import goes. */
export interface DriveImport {
  /** The drive it goes into; absent: drives of the caller's own, under their names. */
  readonly drive?: string;
  /** The one drive of several that is imported. */
  readonly from?: string;
  readonly source?: "reference";
}

export interface DriveImported {
  /** That something was imported into. */
  readonly drives: readonly string[];
  readonly bytes: number;
  readonly cells: number;
  /** Owners that were left out, since their signature is not good. */
  readonly refused: number;
}

export interface DriveCheck {
  readonly files: number;
  readonly directories: number;
  /** Of the files that are whole. */
  readonly bytes: number;
  /** Paths of what cannot be read, as far as they fit. */
  readonly damaged: readonly (readonly string[])[];
  readonly damagedCount: number;
}

/** What every operation knows of its call. */
export interface Call {
  readonly limits: Limits;
  readonly budget: ReadBudget | undefined;
  /** Asked before a large answer is made; absent: nobody counts. */
  readonly memory: AnswerMemory | undefined;
  readonly resolveAsset: ResolveAsset | undefined;
  readonly cancellation: Cancellation | undefined;
  readonly versions: VersionCache;
  /** DID of who calls; `undefined`: the operator. */
  readonly caller: string | undefined;
  readonly scanners: Scanners | undefined;
  readonly terms: CallTerms | undefined;
  /** Present exactly where the operation `streams`. */
  readonly transfer: Transfer | undefined;
  /** Makes a ticket for the caller as it is now. Absent, or it gives nothing: there is no HTTP here that would take one. */
  readonly issueTicket: ((request: TicketRequest) => Ticket | undefined) | undefined;
}

/** A place that an operation wants to use, as the input names it. */
export interface PlaceRequest {
  readonly root: string;
  readonly path: string;
  /** All of them are needed. */
  readonly abilities: readonly Ability[];
  readonly changes: boolean;
}

/** The call of an operation on several places. */
export interface PlacesCall extends Call {
  /**
   * Resolves and authorises one of them as {@link PathCall} says; no disk is touched. An operation that needs several
   * asks for all before it uses one. @throws what a call on that place alone would throw
   */
  at(request: PlaceRequest): PathCall;
}

/** The call of an operation on a path: resolved as far as text goes, and authorised. */
export interface PathCall extends Call {
  readonly root: Root;
  readonly path: RelPath;
  readonly access: Access;
}

/** The call of an operation on the roots themselves. */
export interface RootsCall extends Call {
  /** The roots in which the caller holds any grant. */
  readonly visible: readonly RootFacts[];
  readonly discloseHostPaths: boolean;
}

/** The call of an operation on the caller's drives themselves, authorised. */
export interface DrivesCall extends Call {
  readonly shelf: DriveShelf;
  /** An operation that changes something commits before it does. */
  readonly scope: CallScope;
  /** Whether the caller holds any grant in a drive. */
  sees(drive: string): boolean;
}

interface OperationBase<Input, Output> {
  /** Without the adapter's name: `read`; also the name of its schema. */
  readonly name: string;
  readonly ability: Ability;
  /** Whether it changes anything; read-only roots refuse it. */
  readonly changes: boolean;
  readonly annotations: Annotations;
  /** It moves a body that no memory holds: no surface lists it, only a call that brings a `transfer` finds it. */
  readonly streams?: true;
  /** It lasts as long as a command does, and so keeps nobody waiting but others of its kind. */
  readonly runs?: true;
  /** Input fields whose values are file content. */
  readonly hidden?: readonly string[];
  /** Output fields that only the answer itself holds, and no record of the call. */
  readonly hiddenOutput?: readonly string[];
  /** Milliseconds after which it answers with what it has; its call then lives longer than that, whatever others may. */
  patienceMs?(input: Input, limits: Limits): number;
  /** What the schema cannot say. @throws INVALID_INPUT */
  check?(input: Input): void;
  /** File bytes that went in or out, for the audit. */
  bytes?(output: Output): number;
  /** How the command ended, for the audit. */
  exitOf?(output: Output): SandboxExit;
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
  /** Abilities that it needs beside `ability`. */
  readonly also?: readonly Ability[];
  /** Whether a call is on all drives of the caller, also where it names one. */
  isOnAll?(input: Input): boolean;
  /** The drive that a checked input names, where that is not `drive` alone. */
  driveOf?(input: Input): string;
  run(input: Input, call: DrivesCall): Promise<Output>;
};

/** An operation whose input has passed its own schema, and whose output is nobody's business but the caller's. */
export type AnyOperation = Operation<unknown, unknown>;

/** Hints of an operation that only looks. */
export const LOOKS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
