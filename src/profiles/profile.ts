// Types of profiles: a profile presents the tools of another agent system, mapped onto operations of one bound root.

import type { HostedFileAdapter } from "../adapter/adapter.js";
import type { PathRules } from "../core/call/path.js";
import type { ReportProgress } from "../core/call/progress.js";
import type { ErrorCode, FileAdapterError } from "../core/errors/errors.js";
import { escapeText } from "../core/errors/texts.js";
import type { JsonObject, OperationMetadata, Rendering, SurfaceContext } from "../core/ports/adapter.js";
import type { ExecRequest, Sandbox, SandboxProbe, SandboxProcess, ShellConfig } from "../core/ports/sandbox.js";
import { fieldsOf } from "../core/unknown.js";
import type { FileInputs, FileOutputs } from "../schema/types.js";

/** Configuration of a profile instance. Callers can never choose `root` or `prefix`. */
export interface ProfileBinding {
  /** Name of the profile, for example `jettson`. */
  readonly profile: string;
  readonly root: string;
  /** Directory of the root to which the tools are confined. Absent: the whole root. */
  readonly prefix?: string;
  /** First segment of the paths shown, for example `/workspace`; `null`: none. */
  readonly alias?: string | null;
  readonly variant?: string;
  readonly onStale?: string;
  /** Clone the directory before each command, so that everything it changes can be undone. Default: no. */
  readonly snapshot?: boolean;
  /** Deviations from the default shell configuration. Absent: no tool runs commands. */
  readonly shell?: Partial<Omit<ShellConfig, "limits">> & { readonly limits?: Partial<ShellConfig["limits"]> };
}

/** The shell of a binding that has one. */
export interface ProfileShell {
  /** Rejects if the sandbox cannot be created; `probe` then reports it as unavailable. */
  readonly sandbox: Promise<Sandbox>;
  /** `undefined` until known. */
  readonly probe: SandboxProbe | undefined;
  /** Resolves when `probe` is known; never rejects. */
  readonly ready: Promise<void>;
}

/** Operations that profile tools map to; each takes a single path. */
export type BoundOperation =
  | "file:list"
  | "file:stat"
  | "file:read"
  | "file:hash"
  | "file:grep"
  | "file:glob"
  | "file:write"
  | "file:edit"
  | "file:mkdir"
  | "file:delete";

/** The directory that the tools of a profile see, for the duration of one tool call. */
export interface BoundRoot {
  readonly root: string;
  /** Whether the root is configured as read-only. */
  readonly readOnly: boolean;
  /**
   * Runs an operation below the prefix, on behalf of the tool's caller. Paths in results and errors are relative to the
   * prefix. A missing prefix directory reads as an empty directory.
   * @throws FileAdapterError
   */
  invoke<Name extends BoundOperation>(
    operation: Name,
    input: Omit<FileInputs[Name], "root">,
    wishes?: BoundWishes,
  ): Promise<FileOutputs[Name]>;
  /**
   * Runs a command in a sandbox with only this directory mounted.
   * @param at mount point
   * @throws FileAdapterError
   */
  exec(request: Omit<ExecRequest, "mounts">, at: string): Promise<SandboxProcess>;
  /** Whether the caller has cancelled the call. */
  readonly isCancelled: boolean;
  /** Takes the progress of the call; absent: nobody wants to know. */
  readonly report?: ReportProgress | undefined;
}

/**
 * Per-operation options beside the input. Paths passed to the callbacks in `terms` are relative to the root, so they
 * include the prefix.
 */
export type BoundWishes = Pick<PathRules, "removesFilesOnly"> & Pick<SurfaceContext, "terms">;

/** One tool of another system, as its agents know it. */
export interface ProfileTool
  extends Pick<
    OperationMetadata,
    "title" | "annotations" | "ability" | "changes" | "hiddenOutput" | "name" | "description" | "output"
  > {
  /** JSON Schemas of input and result; neither has `oneOf`, `anyOf`, `allOf`, `enum` or `not` at the top level. */
  readonly input: JsonObject;
  /** Fields of input and result that are redacted in records of a call. */
  readonly hidden?: readonly string[];
  /**
   * Why the tool is unavailable now; it is then not listed, and calling it fails with this text. `undefined`:
   * available.
   */
  readonly unavailable?: () => string | undefined;
  /** Awaited before `unavailable` is asked during a call. */
  readonly ready?: () => Promise<void>;
  /** @param args valid for `input` @throws ToolError and the errors of operations on `root` */
  run(args: JsonObject, root: BoundRoot): Promise<JsonObject>;
  /** Present if the result has a body or a long list. */
  render?(result: unknown, args: unknown): Rendering;
}

/** The call that failed. */
export interface FailedCall {
  readonly tool: string;
  readonly args: unknown;
}

/** A profile opened on its binding, with its per-instance state. */
export interface OpenProfile {
  readonly tools: readonly ProfileTool[];
  /** Text for a failure of an operation. Its `data.path` is relative to the prefix, as the tool passed it. */
  errorText(error: FileAdapterError, call: FailedCall): string;
  /** The value a tool returns instead of a result. */
  errorValue(text: string, tool: string): JsonObject;
  /** Text of that value for a model, if it is not the value as JSON. */
  renderError?(value: unknown): string;
  /** Writes files of the host application. */
  seed?(files: readonly SeedFile[], root: BoundRoot): Promise<void>;
}

/** A file provided by the host application. */
export interface SeedFile {
  readonly path: string;
  readonly content: string;
  /** Default `text`. */
  readonly encoding?: "text" | "base64";
  /** No tool may change it. */
  readonly readonly?: boolean;
}

/** The tool set of another system: data and a pure mapping onto operations. */
export interface Profile {
  readonly name: string;
  readonly description: string;
  /** Instructions for the model about the tools as a whole. */
  readonly instructions: string;
  /** How tools treat symlinks: follow those that stay inside, or refuse every path with one. */
  readonly links: "follow" | "refuse";
  /** @throws ConfigError if the binding does not fit this profile */
  open(
    binding: ProfileBinding,
    parts: { readonly host: ProfileHost; readonly shell: ProfileShell | undefined },
  ): OpenProfile;
}

/** The part of the file adapter that profiles use. */
export type ProfileHost = Pick<HostedFileAdapter, "invoke" | "exec" | "roots" | "refused">;

/** A failure with the profile's own text, as its callers know it. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, text: string) {
    super(text);
    this.code = code;
  }
}

/** Renders the whole result of a tool as JSON. */
export const renderJson = (value: unknown): Rendering => ({ kind: "json", value, rest: {} });

/** The text of a denial. @param required of the error's data: what the caller lacks */
export function denial(required: unknown): string {
  const { can, with: resource } = fieldsOf(required);
  return `permission denied: requires ${String(can)} on ${escapeText(String(resource))}`;
}
