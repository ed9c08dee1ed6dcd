// The Everruns profile: session files and a shell.

import { ConfigError } from "../../config/errors.js";
import { systemClock } from "../../core/clock.js";
import type { BoundRoot, Profile, ProfileBinding, SeedFile } from "../profile.js";
import { BASH_050, bashTool, STRICT_BASH } from "./bash.js";
import { ReadonlyFiles } from "./readonly-files.js";
import { type SessionPaths, sessionPaths } from "./session-path.js";
import { textOf } from "./texts.js";
import { newTools, strictTools } from "./tools.js";

/** Target of the seed files. */
interface SeedBed {
  readonly root: BoundRoot;
  readonly paths: SessionPaths;
  readonly files: ReadonlyFiles;
}

const ALIAS = "/workspace";

/** Session files of Everruns (`session_file_system`): seven file tools in the strict variant, ten in 0.50, and a shell. */
export const everruns: Profile = {
  name: "everruns",
  description: "Everruns session files: read, write, edit, list, search, delete and stat.",
  instructions:
    "Files of the session. read_file and write_file give a content_hash; edit_file needs the current one as expected_hash.",
  links: "refuse",
  open(binding, { shell }) {
    const paths = pathsOf(binding);
    const { isStrict, rebases } = variantOf(binding);
    const names = (binding.prefix ?? "").split("/").filter((name) => name !== "" && name !== ".");
    const files = new ReadonlyFiles(names.length);
    const session = { paths, files, monotonicMs: systemClock.monotonicMs };
    return {
      tools: [
        ...(isStrict ? strictTools(session) : newTools(session, rebases)),
        ...(shell === undefined ? [] : [bashTool({ paths, shell, form: isStrict ? STRICT_BASH : BASH_050 })]),
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

/** Ways to treat an edit of a file that has changed, by variant; the first is the default. */
const VARIANTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["strict", ["reject"]],
  ["0.50", ["rebase", "reject"]],
]);

/** @throws ConfigError for settings that there are not, or only in the other variant */
function variantOf({ variant = "strict", onStale }: ProfileBinding): { isStrict: boolean; rebases: boolean } {
  const ways = VARIANTS.get(variant);
  const named = (values: Iterable<string>): string => [...values].map((value) => `'${value}'`).join(" or ");
  if (ways === undefined)
    throw invalidProfile(`Variant '${variant}' of profile 'everruns' is not supported: use ${named(VARIANTS.keys())}`);
  if (onStale !== undefined && !ways.includes(onStale))
    throw invalidProfile(`onStale '${onStale}' of profile 'everruns' is not supported: use ${named(ways)}`);
  return { isStrict: variant === "strict", rebases: (onStale ?? ways[0]) === "rebase" };
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
    await root.invoke("file:write", { path: session, ...body, parents: true }, { terms: { isUtf8: true } });
    files.set(session, readonly);
  }
}
