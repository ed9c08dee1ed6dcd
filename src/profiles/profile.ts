import type { HostedFileAdapter } from "../adapter/adapter.js";
import type { Ability } from "../core/call/capability.js";
import type { ErrorCode, FileAdapterError } from "../core/errors/errors.js";
import type { Annotations, JsonObject, Rendering } from "../core/ports/adapter.js";
import type { Sandbox, SandboxProbe, ShellConfig } from "../core/ports/sandbox.js";
import type { BoundRoot } from "./bound-root.js";

/** What a profile is put on; `root` and `prefix` are never the caller's to choose. */
export interface ProfileBinding {
  /** Name of the profile: `jettson`. */
  readonly profile: string;
  readonly root: string;
  /** Directory of the root that is all its tools see. Absent: the whole root. */
  readonly prefix?: string;
  /** First segment of shown paths, `/workspace`; `null`: there is none. */
  readonly alias?: string | null;
  readonly variant?: string;
  readonly onStale?: string;
  /** What of it is not as usual. Absent: there is no tool that runs commands. */
  readonly shell?: Partial<Omit<ShellConfig, "limits">> & { readonly limits?: Partial<ShellConfig["limits"]> };
}

/** What runs the commands of a binding that has a shell. */
export interface ProfileShell {
  /** Rejects where none could be made: then `probe` says that there is none. */
  readonly sandbox: Promise<Sandbox>;
  /** `undefined`: not known yet. */
  readonly probe: SandboxProbe | undefined;
  /** Once that is known; never rejects. */
  readonly ready: Promise<void>;
}

/** One tool of another system, as its agents know it. */
export interface ProfileTool {
  readonly name: string;
  readonly title: string;
  /** Written for an agent. */
  readonly description: string;
  /** JSON Schema of the input and of the result; neither holds `oneOf`, `anyOf`, `allOf`, `enum` or `not` at its top. */
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly annotations: Annotations;
  readonly ability: Ability;
  readonly changes: boolean;
  /** Fields of input and result that records of a call hide. */
  readonly hidden?: readonly string[];
  readonly hiddenOutput?: readonly string[];
  /** Why it cannot be used now: it is in no list, and a call by its name fails with this text. */
  readonly unavailable?: () => string | undefined;
  /** Waited for before a call asks that. */
  readonly ready?: () => Promise<void>;
  /** @param args what fits `input` @throws ToolError, and what the operations on `root` throw */
  run(args: JsonObject, root: BoundRoot): Promise<JsonObject>;
  /** Present when the result has a body or a long list. */
  render?(result: unknown, args: unknown): Rendering;
}

/** Which call failed. */
export interface FailedCall {
  readonly tool: string;
  readonly args: unknown;
}

/** A profile on its binding, with what it keeps of it. */
export interface OpenProfile {
  readonly tools: readonly ProfileTool[];
  /** The text for a failure of the core. Its `data.path` is as the tool gave it, without the prefix. */
  errorText(error: FileAdapterError, call: FailedCall): string;
  /** What the tool answers in place of a result. */
  errorValue(text: string, tool: string): JsonObject;
  /** The same for a model, where that is another text than the value as JSON. */
  renderError?(value: unknown): string;
  /** Puts files there for the host application. */
  seed?(files: readonly SeedFile[], root: BoundRoot): Promise<void>;
}

/** A file that the host application puts there. */
export interface SeedFile {
  readonly path: string;
  readonly content: string;
  /** Default `text`. */
  readonly encoding?: "text" | "base64";
  /** No tool changes it. */
  readonly readonly?: boolean;
}

/** A set of tools of another system: data, and pure mapping onto our operations. */
export interface Profile {
  readonly name: string;
  readonly description: string;
  /** What a model is told of all the tools together. */
  readonly instructions: string;
  /** What its tools do with links: follow those that stay inside, or take none in any path. */
  readonly links: "follow" | "refuse";
  /** @throws ConfigError for a binding that it cannot have */
  open(binding: ProfileBinding, parts: { readonly host: ProfileHost; readonly shell?: ProfileShell }): OpenProfile;
}

/** What a profile works on. */
export type ProfileHost = Pick<HostedFileAdapter, "invoke" | "exec" | "roots" | "refused">;

/** A failure whose text is the profile's own, as its callers know it. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, text: string) {
    super(text);
    this.code = code;
  }
}
