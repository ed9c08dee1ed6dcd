// Opens a profile on a root: validates arguments, runs tools and renders their failures in the profile's own words.

import { ConfigError } from "../config/errors.js";
import { approvalAdvice } from "../core/errors/approval-texts.js";
import { type ErrorCode, errorOutput, FileAdapterError } from "../core/errors/errors.js";
import { escapeText, internalError, unknownOperation } from "../core/errors/texts.js";
import type { Awaitable } from "../core/io.js";
import type { JsonObject, SurfaceContext } from "../core/ports/adapter.js";
import { isObject } from "../core/unknown.js";
import { parsePath } from "../path/grammar.js";
import { InputValidator } from "../schema/validate.js";
import { type Bound, CountedRoot } from "./bound-root.js";
import { everruns } from "./everruns/everruns.js";
import { jettson } from "./jettson/jettson.js";
import {
  type Profile,
  type ProfileBinding,
  type ProfileHost,
  type ProfileShell,
  type ProfileTool,
  type SeedFile,
  ToolError,
} from "./profile.js";

/** All profiles by name. */
const PROFILES: ReadonlyMap<string, Profile> = new Map([jettson, everruns].map((profile) => [profile.name, profile]));

/** An open profile. */
export interface ProfileInstance {
  readonly profile: Profile;
  /** Tools available now. */
  readonly tools: readonly ProfileTool[];
  /** All tools that a call may name, available or not. */
  readonly known: ReadonlyMap<string, ProfileTool>;
  /**
   * Runs a tool. A failure of the tool resolves to an error value.
   * @throws UNKNOWN_OPERATION for an unknown tool name
   */
  call(name: string, args: unknown, context?: SurfaceContext): Promise<JsonObject>;
  /** Text of a failure for a model. */
  renderError(value: unknown): string;
  /** Resolves when it is known which tools are available; never rejects. */
  readonly ready: Promise<void>;
  /**
   * Present if the profile takes files of the host application. Writes them with the authority of `context`: the
   * operator's, unless it names a caller, for example the owner of a drive.
   * @throws FileAdapterError
   */
  readonly seed?: (files: readonly SeedFile[], context?: SurfaceContext) => Promise<void>;
}

export interface InstanceOptions {
  /** Default: the name of the profile. */
  readonly name?: string;
  /** Receives unexpected errors. */
  readonly onInternalError?: (error: unknown, id: string) => void;
  /** Absent: no tool runs commands, whatever the binding says. */
  readonly shell?: ProfileShell | undefined;
}

/**
 * Opens a profile on its root.
 * @throws ConfigError if the root or the profile does not exist or the prefix is invalid
 */
export function openProfile(
  host: ProfileHost,
  binding: ProfileBinding,
  options: InstanceOptions = {},
): ProfileInstance {
  const { name = binding.profile, onInternalError = () => {}, shell } = options;
  const profile = PROFILES.get(binding.profile);
  if (profile === undefined) throw invalidProfile(`Profile '${escapeText(binding.profile)}' does not exist`);
  if (!host.roots.some((root) => root.name === binding.root)) {
    throw invalidProfile(`Root '${escapeText(binding.root)}' of profile '${name}' does not exist`);
  }
  const open = profile.open(binding, { host, shell });
  const { root, snapshot } = binding;
  const prefix = prefixOf(binding);
  const bound: Bound = { root, prefix, prefixPath: prefix.join("/"), links: profile.links, snapshot };
  const known = new Map(open.tools.map((tool) => [tool.name, tool]));
  const validator = new InputValidator();
  const bind = (tool: string, context: SurfaceContext) =>
    new CountedRoot({ host, bound, context, tool: `${name}:${tool}` });

  /** @returns error code and text of a failure */
  const faultOf = (error: unknown, tool: string, args: unknown): { code: ErrorCode; text: string } => {
    if (error instanceof ToolError) return { code: error.code, text: error.message };
    if (!(error instanceof FileAdapterError)) onInternalError(error, `${name}:${tool}`);
    const known = error instanceof FileAdapterError ? error : internalError("");
    const code = known.code === "EXISTS" ? "INTERNAL" : known.code;
    return { code, text: approvalAdvice(known) ?? open.errorText(known, { tool, args }) };
  };

  /** @throws ToolError if the tool is not available, INVALID_INPUT */
  const check = (tool: ProfileTool, args: unknown): Awaitable<void> => {
    const reason = tool.unavailable?.();
    if (reason !== undefined) throw new ToolError("NOT_SUPPORTED", reason);
    return validator.check(tool.name, tool.input, args);
  };
  return {
    profile,
    known,
    get tools() {
      return open.tools.filter((tool) => tool.unavailable?.() === undefined);
    },
    async call(toolName, given, context = {}) {
      const tool = known.get(toolName);
      if (tool === undefined) throw unknownOperation(toolName);
      const { args, approval } = splitApproval(given ?? {}, tool);
      const root = bind(toolName, approval === undefined ? context : { ...context, approval });
      try {
        if (tool.ready !== undefined) await tool.ready();
        await check(tool, args);
        // The tool's schema guarantees an object.
        return await tool.run(args as JsonObject, root);
      } catch (error) {
        const { code, text } = faultOf(error, toolName, args);
        if (root.calls === 0) host.refused({ operation: `${name}:${toolName}`, root: root.root, context, code });
        return errorOutput(open.errorValue(text, toolName), code);
      }
    },
    ready: Promise.all(open.tools.map((tool) => tool.ready?.())).then(() => {}),
    renderError: (value) => open.renderError?.(value) ?? JSON.stringify(value),
    ...(open.seed === undefined
      ? {}
      : { seed: async (files, context = {}) => open.seed?.(files, bind("seed", context)) }),
  };
}

/** Takes the id of an approval out of the arguments of a tool that changes things: no tool of a profile knows it. */
function splitApproval(given: unknown, { changes }: ProfileTool): { args: unknown; approval?: string } {
  if (!changes || !isObject(given) || typeof given["approval"] !== "string") return { args: given };
  const { approval, ...args } = given;
  return { args, approval };
}

const invalidProfile = (text: string): ConfigError => new ConfigError([text], 78);

function prefixOf({ root, prefix = "" }: ProfileBinding): readonly string[] {
  try {
    return parsePath(root, prefix).segments;
  } catch {
    throw invalidProfile(`Prefix '${escapeText(prefix)}' is no path below a root`);
  }
}
