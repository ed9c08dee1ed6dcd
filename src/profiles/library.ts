// Profiles for host applications that embed the library.

import type { FileAdapter } from "../adapter/adapter.js";
import type { InvokeContext, JsonObject } from "../core/ports/adapter.js";
import { DEFAULT_SHELL, type Sandbox, type ShellConfig } from "../core/ports/sandbox.js";
import { openProfile, type ProfileInstance } from "./create-profile.js";
import type { ProfileBinding, ProfileHost } from "./profile.js";
import { openShell } from "./shell.js";

/** The tools of a profile, for a host application. */
export interface ToolProfile extends Pick<ProfileInstance, "tools" | "seed" | "ready"> {
  /**
   * Runs a tool. Resolves for failures of the tool too, with an error value.
   * @throws UNKNOWN_OPERATION for an unknown tool name
   */
  call(name: string, args: unknown, context?: InvokeContext): Promise<JsonObject>;
}

/** @param createSandbox creates the sandbox that runs commands; never rejects */
export function createToolProfile(
  adapter: FileAdapter,
  binding: ProfileBinding,
  createSandbox: (config: ShellConfig) => Promise<Sandbox>,
): ToolProfile {
  const { shell } = binding;
  const config = shell && { ...DEFAULT_SHELL, ...shell, limits: { ...DEFAULT_SHELL.limits, ...shell.limits } };
  return openProfile(parseHost(adapter), binding, { shell: config && openShell(() => createSandbox(config)) });
}

/** @throws TypeError if the adapter was not made by `createFileAdapter` */
function parseHost(adapter: FileAdapter): ProfileHost {
  if ("roots" in adapter && "refused" in adapter) return adapter as FileAdapter & ProfileHost;
  throw new TypeError("A profile needs an adapter of createFileAdapter");
}
