// Port between a venue and its adapters: operations with their metadata, and the context of a call.

import type { AccessRights, Authentication, Credential } from "../call/caller.js";
import type { Ability, Capability } from "../call/capability.js";
import type { ReadBudget } from "../call/limits.js";
import type { PathRules } from "../call/path.js";
import type { ReportProgress } from "../call/progress.js";
import type { Cancellation } from "../call/scope.js";
import type { CallTerms } from "../call/terms.js";
import type { ContentBytes } from "../content-bytes.js";
import type { AnswerMemory } from "../memory.js";
import type { ChangeSink } from "./changes/change.js";
import type { ClientApproval } from "./effect.js";
import type { ExecRequest, SandboxProcess } from "./sandbox.js";
import type { ByteSpan, Transfer } from "./streams.js";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Content of an asset reference. */
export interface AssetContent {
  /** `null`: the asset exists but has no content. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array> | null;
  /** Hex SHA-256 that the content must have; checked before the target is touched. */
  readonly sha256?: string;
  readonly contentType?: string | undefined;
  /** Its bytes from anywhere, and how many it has. Absent: it is read from the start. */
  readonly stored?: { readonly size: number; read(range: ByteSpan): AsyncIterable<Uint8Array> };
}

/** Resolves an asset reference, or `sha256:<hex>`, to stored content. `undefined`: no such asset. */
export type ResolveAsset = (reference: string, signal?: AbortSignal) => Promise<AssetContent | undefined>;

/** Stores content as a new asset of the caller. @returns its id @throws AssetError forbidden, too_large, full */
export type StoreAsset = (
  content: AsyncIterable<Uint8Array>,
  about: { readonly fileName: string; readonly contentType: string },
) => Promise<string>;

/** Caller and tokens of a call. Without `callerDID` the caller is the operator: omit it only for a trusted caller. */
export interface InvokeContext {
  readonly callerDID?: string;
  /** How the caller authenticated, if a venue required it. */
  readonly authentication?: Authentication;
  /** Caps list by which the host narrows the caller. Absent or `null`: no restriction. */
  readonly caps?: unknown;
  /** UCANs sent with the call: an array of strings. Anything else fails the call. */
  readonly ucans?: unknown;
  readonly signal?: AbortSignal;
  readonly resolveAsset?: ResolveAsset;
  /** Called with the progress of a long call; must not throw. */
  readonly report?: ReportProgress | undefined;
}

/** Context that surfaces add; not for embedders. */
export interface SurfaceContext extends InvokeContext {
  /** Absent: the call can make no assets. */
  readonly storeAsset?: StoreAsset | undefined;
  /** Second caps list, by which the caller narrows this call. */
  readonly callCaps?: unknown;
  /**
   * Directories this call is confined to, links included: each a root name and segments below it. Absent: no
   * restriction. The list narrows as a caps list does, but can name paths that no capability can express.
   */
  readonly within?: readonly (readonly string[])[];
  /** Capabilities the caller's static token adds to those of its DID. */
  readonly tokenCaps?: readonly Capability[] | undefined;
  /** Identifies the caller's bearer token; see `Caller`. */
  readonly credential?: Credential | undefined;
  /** The UCANs the caller authenticated with; see `Caller`. */
  readonly identityTokens?: readonly string[] | undefined;
  /** Stands for the UCANs that restrict the caller; see `Caller`. */
  readonly narrowedTo?: string | undefined;
  /** Present for the bearer of an access token: its rights come from the token's maker; see `Caller`. */
  readonly access?: AccessRights | undefined;
  /** The tokens sent with the call name several callers, so it is refused. */
  readonly ambiguousCaller?: boolean | undefined;
  /** Base URL by which the caller has come, where it is not that of the venue; see `Caller`. */
  readonly entrance?: string | undefined;
  /** Replaces `signal` where creating one is deferred until needed. */
  readonly cancellation?: Cancellation;
  /** An approval that the call brings beside its input. */
  readonly approval?: string | undefined;
  /** Root in which a person has allowed the command that makes this call. */
  readonly allowedRoot?: string | undefined;
  /** Id of the group that all changes of this call are members of. */
  readonly changeGroup?: string | undefined;
  /** Present where the user of the client that calls can be asked. */
  readonly client?: ClientApproval | undefined;
  /** Surface by which the call arrived, for records of changes: `http`, `webdav`, `mcp`, `cli`, `acp`. Default: `library`. */
  readonly surface?: string;
  /** Called with each change that the call has committed. */
  readonly onChange?: ChangeSink;
  /** Id of the session the call belongs to, where it has one, for records of changes. */
  readonly session?: string;
  /** Id of the call's job, for the audit record. */
  readonly jobId?: string;
  /** The call comes from a surface of this package, which may run operations that no caller is offered. */
  readonly isInternal?: true;
  /** Stream besides input and output, only for operations that need one. */
  readonly transfer?: Transfer;
  /** Memory accounting of the answer, if the surface counts it. */
  readonly memory?: AnswerMemory | undefined;
  /** Read limits of a surface whose answers go to a model. */
  readonly budget?: ReadBudget | undefined;
  /** The output may carry its content as bytes (`carriedBy`); only for operations that `givesBytes`. */
  readonly takesBytes?: boolean | undefined;
  /** `refuse`: a symbolic link anywhere in a path is SYMLINK_ESCAPE, wherever it leads. */
  readonly links?: "refuse" | undefined;
  /** Terms of the profile. */
  readonly terms?: CallTerms | undefined;
  /** Paths mean what they say: none names its root. */
  readonly exactPaths?: true;
  /** Additional path rules of a facade. */
  readonly pathRules?: PathRules;
  /** Calling tool of a profile, `jettson:jettson_files_read`, for the audit record. */
  readonly tool?: string;
}

export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/**
 * How an answer is presented to a model. `text`, `blob` and `json` carry the body, sent once; `rest` holds the other
 * output fields. `note` is one line that says what was left out and which call returns it.
 */
export type Rendering =
  | { readonly kind: "text"; readonly text: string | ContentBytes; readonly rest: JsonObject; readonly note?: string }
  | {
      readonly kind: "json";
      readonly value: unknown;
      readonly rest: JsonObject;
      readonly note?: string;
      /** Content beside the value, as by `blob`. */
      readonly blob?: { readonly base64: string; readonly mime: string; readonly uri: string };
    }
  | {
      readonly kind: "blob";
      readonly base64: string | ContentBytes;
      readonly mime: string;
      readonly uri: string;
      readonly rest: JsonObject;
      readonly note?: string;
    };

/** Public metadata of an operation. */
export interface OperationMetadata {
  /** Dispatch name, `file:read`. */
  readonly name: string;
  /** MCP tool name, `file_read`. */
  readonly toolName: string;
  readonly title: string;
  /** Written for an agent. */
  readonly description: string;
  readonly ability: Ability;
  /** Abilities that its calls need besides. */
  readonly also?: readonly Ability[];
  /** Whether it has side effects; read-only venues omit those. */
  readonly changes: boolean;
  readonly annotations: Annotations;
  /** JSON Schema of the input and of the output. */
  readonly input: JsonObject;
  readonly output: JsonObject;
  /** Input fields that a surface for models sets where the caller leaves them out. */
  readonly modelDefaults?: JsonObject;
  /** Input fields whose values are file content; records of a call hide them. */
  readonly hidden: readonly string[];
  /** Output fields that appear only in the answer; records of a call hide them. */
  readonly hiddenOutput?: readonly string[];
  /** Why the operation is currently not listed, although it can be called. Absent or `undefined`: it is listed. */
  readonly unavailable?: () => string | undefined;
  /** Its output can carry its content as bytes, for callers that take them so. */
  readonly givesBytes?: true;
  /** Answers and failures are those of an imitated system: surfaces add nothing to them. */
  readonly isVerbatim?: true;
  /** Text for a model of an output that reports a failure. Default: the output as JSON. */
  renderError?(output: unknown): string;
  /** Present if the answer has a body or a long list: it is rendered for a model instead of structured content. */
  render?(output: unknown, input: unknown): Rendering;
  /** Schemas of further input fields, each with an `enum`, that `render` takes and the operation does not. */
  readonly renderFields?: JsonObject;
}

/** A named set of operations hosted by a venue. */
export interface Adapter {
  readonly name: string;
  readonly description: string;
  /** Instructions for a model on the operations as a whole, used when no other adapter is offered. */
  readonly instructions?: string;
  readonly operations: readonly OperationMetadata[];
  /** @throws FileAdapterError for every failure */
  invoke(operation: string, input: unknown, context?: SurfaceContext): Promise<unknown>;
  close(): Promise<void>;
}

/** Runs commands as an operation, with the same authorisation and audit as any other. */
export type Exec = (request: ExecRequest, context: SurfaceContext) => Promise<SandboxProcess>;
