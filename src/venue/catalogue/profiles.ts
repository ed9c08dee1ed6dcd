// Opens the configured profiles: adapters that imitate the tools of other systems on top of the file operations.

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import { ConfigError } from "../../config/errors.js";
import type { ProfileConfig } from "../../config/types.js";
import type { Adapter } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import type { ShellConfig } from "../../core/ports/sandbox.js";
import type { ProfileShell } from "../../profiles/profile.js";

/** The profiles to open, and the parts that they need. */
export interface ProfileParts {
  readonly files: HostedFileAdapter;
  /** Profiles by adapter name. */
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
  readonly options: {
    /** Open only this profile. Absent: all profiles… */
    readonly profile?: string | undefined;
    /** …or none, if only file operations will be called. */
    readonly filesOnly?: boolean;
  };
  readonly log: Log;
  readonly logInternal: (error: unknown, id: string) => void;
}

/** Opens the adapters of the configured profiles, loading their code only if there are any. @throws ConfigError */
export async function openProfiles(parts: ProfileParts): Promise<readonly Adapter[]> {
  const { files, profiles, options, logInternal } = parts;
  const { profile, filesOnly = false } = options;
  const wanted = Object.entries(profiles).filter(([name]) => (profile === undefined ? !filesOnly : name === profile));
  if (wanted.length === 0) return [];
  const { openProfile } = await import("../../profiles/create-profile.js");
  const { profileAdapter } = await import("../../profiles/profile-adapter.js");
  const opening = wanted.map(async ([name, config]) => {
    const shell = config.shell && (await shellOf(name, config.shell, parts));
    const shown = shell === undefined ? {} : { shell };
    return profileAdapter(name, openProfile(files, config, { name, onInternalError: logInternal, ...shown }));
  });
  return Promise.all(opening);
}

async function shellOf(name: string, config: ShellConfig, { log }: ProfileParts): Promise<ProfileShell> {
  const { networkRefusal } = await import("../../sandbox/bwrap/user-network.js");
  const refusal = networkRefusal(config);
  if (refusal !== undefined) throw new ConfigError([`profiles.${name}: ${refusal}`], 78);
  const { createSandbox } = await import("../../sandbox/create.js");
  const { openShell } = await import("../../profiles/shell.js");
  const shell = openShell(() => createSandbox(config, { onWarning: (text) => log.warn({ profile: name }, text) }));
  await shell.ready;
  return shell;
}
