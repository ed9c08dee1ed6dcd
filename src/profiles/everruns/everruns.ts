// The Everruns profile: session files and a shell.

import { ConfigError } from "../../config/errors.js";
import { systemClock } from "../../core/clock.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { LOOKS } from "../../core/ports/operation.js";
import {
  type BoundRoot,
  type Profile,
  type ProfileBinding,
  type ProfileTool,
  renderJson,
  type SeedFile,
} from "../profile.js";
import { bashTool } from "./bash.js";
import { describeTool } from "./describe-tool.js";
import { editFile } from "./edit-file.js";
import {
  deleteFile,
  grepFiles,
  listDirectory,
  readFile,
  renderRead,
  type Session,
  type SessionCall,
  statFile,
  writeFile,
} from "./files.js";
import { ReadonlyFiles } from "./readonly-files.js";
import { type SessionPaths, sessionPaths } from "./session-path.js";
import { textOf } from "./texts.js";

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
    await root.invoke("file:write", { path: session, ...body, parents: true }, { terms: { isUtf8: true } });
    files.set(session, readonly);
  }
}

// The seven file tools of the Everruns profile and their arguments.

const CHANGES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

const fileTools = (session: Session): readonly ProfileTool[] => [
  {
    ...describeTool("read_file", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderRead },
    run: (args, root) => readFile(pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("write_file", session.paths),
    annotations: { ...CHANGES, idempotentHint: true },
    ...{ ability: "crud/write", changes: true, hidden: ["content"] },
    run: (args, root) => writeFile(pathIn(args, session), contentIn(args), on(root, session)),
  },
  {
    ...describeTool("edit_file", session.paths),
    ...{ annotations: CHANGES, ability: "crud/write", changes: true, render: renderJson },
    hidden: ["old_text", "new_text", "edits"],
    run: (args, root) => editFile(args, pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("list_directory", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderJson },
    run: (args, root) => listDirectory(pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("grep_files", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderJson },
    run: (args, root) =>
      grepFiles(
        pathIn(args, session),
        { pattern: textIn(args, "pattern"), pathPattern: textIn(args, "path_pattern") },
        on(root, session),
      ),
  },
  {
    ...describeTool("delete_file", session.paths),
    ...{ annotations: CHANGES, ability: "crud/delete", changes: true },
    run: (args, root) => deleteFile(pathIn(args, session), args["recursive"] === true, on(root, session)),
  },
  {
    ...describeTool("stat_file", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false },
    run: (args, root) => statFile(pathIn(args, session), on(root, session)),
  },
];

const on = (root: BoundRoot, { paths, files, monotonicMs }: Session): SessionCall => ({
  paths,
  files,
  monotonicMs,
  root,
});

const textIn = (args: JsonObject, field: string): string => String(args[field] ?? "");

/** Session path of a call; the session's root if the path is absent. */
const pathIn = (args: JsonObject, { paths }: Session): string => paths.parse(textIn(args, "path"));

const contentIn = (args: JsonObject): { readonly content: string } | { readonly bytes: string } =>
  args["encoding"] === "base64" ? { bytes: textIn(args, "content") } : { content: textIn(args, "content") };
