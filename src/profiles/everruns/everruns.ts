// The Everruns profile: session files and a shell.

import { ConfigError } from "../../config/errors.js";
import { systemClock } from "../../core/clock.js";
import type { BoundRoot, Profile, ProfileBinding, SeedFile } from "../profile.js";
import { bashTool } from "./bash.js";
import { ReadonlyFiles } from "./readonly-files.js";
import { type SessionPaths, sessionPaths } from "./session-path.js";
import { textOf } from "./texts.js";
import { fileTools } from "./tools.js";

/** Target of the seed files. */
interface SeedBed {
  readonly root: BoundRoot;
  readonly paths: SessionPaths;
  readonly files: ReadonlyFiles;
}

const ALIAS = "/workspace";

/** Session files of Everruns (`session_file_system`): seven file tools in the strict variant, and a shell. */
export const everruns: Profile = {
  name: "everruns",
  description: "Everruns session files: read, write, edit, list, search, delete and stat.",
  instructions:
    "Files of the session. read_file and write_file give a content_hash; edit_file needs the current one as expected_hash.",
  links: "refuse",
  open(binding, { shell }) {
    const paths = pathsOf(binding);
    requireStrict(binding);
    const names = (binding.prefix ?? "").split("/").filter((name) => name !== "" && name !== ".");
    const files = new ReadonlyFiles(names.length);
    return {
      tools: [
        ...fileTools({ paths, files, monotonicMs: systemClock.monotonicMs }),
        ...(shell === undefined ? [] : [bashTool({ paths, shell })]),
      ],
      errorText: (error, call) => textOf(error, call, paths),
      errorValue: (text) => ({ error: text }),
      renderError: ({ error }) => String(error),
      seed: (seeds, root) => seedFiles(seeds, { root, paths, files }),
    };
  },
};

/** @throws ConfigError */
function pathsOf({ alias = ALIAS }: ProfileBinding): SessionPaths {
  const paths = sessionPaths(alias);
  if (paths === undefined)
    throw invalidProfile("'alias' of profile 'everruns' must be null or an absolute path: /workspace");
  return paths;
}

/** @throws ConfigError for settings that only the other variant has */
function requireStrict({ variant = "strict", onStale = "reject" }: ProfileBinding): void {
  if (variant !== "strict")
    throw invalidProfile(`Variant '${variant}' of profile 'everruns' is not supported: use 'strict'`);
  if (onStale !== "reject")
    throw invalidProfile(`onStale '${onStale}' of profile 'everruns' is not supported: use 'reject'`);
}

const invalidProfile = (text: string): ConfigError => new ConfigError([text], 78);

/**
 * Writes the files in order, replacing existing ones, and records which are read-only for the tools.
 * @throws as `file:write`
 */
async function seedFiles(seeds: readonly SeedFile[], { root, paths, files }: SeedBed): Promise<void> {
  for (const { path, content, encoding = "text", readonly = false } of seeds) {
    const session = paths.parse(path);
    const body = encoding === "base64" ? { bytes: content } : { content };
    await root.invoke("file:write", { path: session, ...body, parents: true });
    files.set(session, readonly);
  }
}
