import type { Authentication, Credential } from "../call/caller.js";
import type { Ability, Capability } from "../call/capability.js";
import type { ReadBudget } from "../call/limits.js";
import type { PathRules } from "../call/path-rules.js";
import type { Cancellation } from "../call/scope.js";
import type { CallTerms } from "../call/terms.js";
import type { AnswerMemory } from "../memory.js";
import type { Transfer } from "./transfer.js";

export type JsonObject = Readonly<Record<string, unknown>>;

/** The content an asset reference stands for. */
export interface AssetContent {
  /** `null`: the asset is known but nothing has been stored for it. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array> | null;
  /** Hex SHA-256 that the content must have; checked before the target is touched. */
  readonly sha256?: string;
}

/** Finds the content of an asset reference for the caller. `undefined`: no such asset. */
export type ResolveAsset = (reference: string, signal?: AbortSignal) => Promise<AssetContent | undefined>;

/** Who calls, and with what. Without `callerDID` the caller is the operator, so leave it out only for a trusted caller. */
export interface InvokeContext {
  readonly callerDID?: string;
  /** How the caller proved who it is, where a venue asked. */
  readonly authentication?: Authentication;
  /** Capability list that narrows the caller, given by the host. Absent or `null`: no restriction. */
  readonly caps?: unknown;
  /** Tokens sent with the call: an array of texts. Anything else fails the call. */
  readonly ucans?: unknown;
  readonly signal?: AbortSignal;
  readonly resolveAsset?: ResolveAsset;
}

/** What a surface adds to the context; not for embedders. */
export interface SurfaceContext extends InvokeContext {
  /** A second list that narrows this one call, given by the caller. */
  readonly callCaps?: unknown;
  /**
   * Directories that this one call may lead to, links included: each the name of a root and the segments below it. Absent:
   * no restriction. They narrow as a list of capabilities does, but can name what no capability can be written for.
   */
  readonly within?: readonly (readonly string[])[];
  /** What the caller's static token gives beyond what its DID has. */
  readonly tokenCaps?: readonly Capability[];
  /** The bearer token by which the caller is known; see `Caller`. */
  readonly credential?: Credential;
  /** The UCANs by which the caller is known; see `Caller`. */
  readonly identityTokens?: readonly string[];
  /** The tokens sent with the call name several callers: it is refused. */
  readonly ambiguousCaller?: boolean;
  /** In place of `signal`, where one is made only when it is needed. */
  readonly cancellation?: Cancellation;
  /** Job the call belongs to, for the audit record. */
  readonly jobId?: string;
  /** What goes in or out beside input and output, for the operations that need it and for no other. */
  readonly transfer?: Transfer;
  /** What the answer may take of the memory of the process, where its surface counts that. */
  readonly memory?: AnswerMemory | undefined;
  /** Limits of a surface whose answers are read by a model. */
  readonly budget?: ReadBudget | undefined;
  /** `refuse`: a link anywhere in a path ends the call with SYMLINK_ESCAPE, wherever it leads. */
  readonly links?: "refuse" | undefined;
  /** What a profile wants to be different. */
  readonly terms?: CallTerms | undefined;
  /** What a facade asks of every path of the call. */
  readonly pathRules?: PathRules;
  /** Tool of a profile that calls, `jettson:jettson_files_read`, for the audit. */
  readonly tool?: string;
}

export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/**
 * How an answer is put into a model's context. `text`, `blob` and `json` are the body itself, sent once; `rest` holds
 * the other output fields. `note` is one line that says what was left out and the call that gets it.
 */
export type Rendering =
  | { readonly kind: "text"; readonly text: string; readonly rest: JsonObject; readonly note?: string }
  | {
      readonly kind: "json";
      readonly value: unknown;
      readonly rest: JsonObject;
      readonly note?: string;
      /** Shown beside the value. */
      readonly image?: { readonly base64: string; readonly mime: string };
    }
  | {
      readonly kind: "blob";
      readonly base64: string;
      readonly mime: string;
      readonly uri: string;
      readonly rest: JsonObject;
      readonly note?: string;
    };

/** What the world may know of an operation. */
export interface OperationMetadata {
  /** Dispatch name, `file:read`. */
  readonly name: string;
  /** MCP tool name, `file_read`. */
  readonly toolName: string;
  readonly title: string;
  /** Written for an agent. */
  readonly description: string;
  readonly ability: Ability;
  /** Whether it changes anything, so that read-only venues can leave it out. */
  readonly changes: boolean;
  readonly annotations: Annotations;
  /** JSON Schema of the input and of the output. */
  readonly input: JsonObject;
  readonly output: JsonObject;
  /** Input fields whose values are file content; records of a call hide them. */
  readonly hidden: readonly string[];
  /** Output fields that only the answer itself holds: records of a call hide them. */
  readonly hiddenOutput?: readonly string[];
  /** Why it is in no list now, although a call may name it; absent, or it gives nothing: it is in all of them. */
  readonly unavailable?: () => string | undefined;
  /** What a model reads of an output that tells of a failure. Default: the output as JSON. */
  renderError?(output: unknown): string;
  /** Present when the answer has a body or a long list: such answers go to a model by this, not as structured content. */
  render?(output: unknown, input: unknown): Rendering;
}

/** A set of operations under one name; what a venue hosts. */
export interface Adapter {
  readonly name: string;
  readonly description: string;
  /** What a model is told of the operations as a whole, where they are offered alone. */
  readonly instructions?: string;
  readonly operations: readonly OperationMetadata[];
  /** @throws FileAdapterError for every failure */
  invoke(operation: string, input: unknown, context?: SurfaceContext): Promise<unknown>;
  close(): Promise<void>;
}
