// Generated from schemas/file/*.json by `npm run types`. Do not edit.

export interface HashInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
}

export interface HashOutput {
  path: string;
  hash: string;
  etag: string;
  size: number;
}

export interface HistoryInput {
  /**
   * Default all roots
   */
  root?: string;
  /**
   * File or folder, also of moves away from it
   */
  path?: string;
  /**
   * 1-500, default 50
   */
  limit?: number;
  /**
   * nextCursor of the page before
   */
  cursor?: string;
  /**
   * Only changes of this actor
   */
  actor?: string;
  /**
   * Only of this credential or session
   */
  via?: string;
  /**
   * Only members of this group
   */
  group?: string;
  /**
   * Only from this time on, epoch ms
   */
  since?: number;
}

export interface HistoryOutput {
  entries: {
    id: string;
    time: number;
    op: string;
    root: string;
    path: string;
    fromRoot?: string;
    from?: string;
    kind: "file" | "directory" | "link" | "other";
    actor: string;
    via: string;
    surface: string;
    group?: string;
    partial?: true;
    made?: string[];
    files?: number;
    before: {
      etag?: string;
      hash?: string;
      size: number;
      mode?: number;
      modified: number;
    } | null;
    after: {
      etag?: string;
      hash?: string;
      size: number;
      mode?: number;
      modified: number;
    } | null;
    undoable: boolean;
    reason?: string;
    undoneBy?: string;
    undoes?: string[];
    mayInclude?: "external";
  }[];
  complete: boolean;
  reason?:
    "limit" | "visited" | "damaged" | "lost" | "waiting" | "off" | "no_state_dir" | "no_lmdb" | "no_trash" | "moved";
  hint?: string;
  nextCursor?: string;
}

export interface PatchInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Folder that the paths are in
   */
  path?: string;
  /**
   * A unified diff, or *** Begin Patch … *** End Patch, with *** Add File: PATH (or Update, Delete), *** Move to: PATH, @@ hunks
   */
  patch?: string;
  /**
   * Instead of patch
   *
   * @minItems 1
   * @maxItems 100
   */
  changes?: {
    op: "write" | "edit" | "delete" | "move" | "mkdir";
    /**
     * In the root
     */
    path: string;
    /**
     * write: the whole text
     */
    content?: string;
    /**
     * edit: exact text to replace
     *
     * @minItems 1
     * @maxItems 100
     */
    edits?: {
      oldText: string;
      newText: string;
      /**
       * Occurrences, default 1
       */
      expect?: number;
    }[];
    /**
     * move: the new path
     */
    to?: string;
  }[];
  /**
   * Path to the etag or hash it must have
   */
  ifMatch?: {
    [k: string]: string;
  };
  /**
   * If not UTF-8
   */
  encoding?: string;
  /**
   * Only the diff
   */
  dryRun?: boolean;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface PatchOutput {
  files: {
    path: string;
    from?: string;
    action: "add" | "modify" | "delete" | "move";
    etag?: string;
    /**
     * A hunk matched only when line ends, or white space at the end of lines, were not compared
     */
    tried?: "newlines" | "whitespace";
  }[];
  /**
   * Hunks, edits and whole-file changes
   */
  applied: number;
  diff?: string;
  diffTruncated?: boolean;
  dryRun?: true;
  kept?: false;
  reason?: string;
  operationId?: string;
  hint?: string;
}

export interface PurgeInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Entries, 1-500
   *
   * @minItems 1
   * @maxItems 500
   */
  ids?: string[];
  /**
   * Everything kept of this path and below
   */
  path?: string;
  /**
   * Everything kept in the root
   */
  all?: true;
}

export interface PurgeOutput {
  purged: number;
}

export interface ReadManyInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * 1-50 files
   *
   * @minItems 1
   * @maxItems 50
   */
  files: {
    /**
     * In the root
     */
    path: string;
    /**
     * First line, from 1
     */
    line?: number;
    /**
     * Lines
     */
    limit?: number;
    /**
     * Cut text to this
     */
    maxBytes?: number;
    /**
     * If not UTF-8: latin1, …
     */
    encoding?: string;
  }[];
  /**
   * All together; default 65536
   */
  maxBytes?: number;
}

export interface ReadManyOutput {
  files: {
    path: string;
    ok: boolean;
    content?: string;
    encoding?: string;
    size?: number;
    mime?: string;
    etag?: string;
    hash?: string;
    /**
     * In place of content: what the file is and how to get it
     */
    description?: string;
    /**
     * content is made from the file: cells of a notebook, text of a PDF
     */
    rendered?: "notebook" | "pdf";
    hint?: string;
    truncated?: boolean;
    complete?: boolean;
    reason?: "limit" | "bytes";
    startLine?: number;
    endLine?: number;
    nextLine?: number;
    offset?: number;
    length?: number;
    eof?: boolean;
    nextOffset?: number;
    /**
     * Of a tail that was cut: bytes left out before offset
     */
    omitted?: number;
    totalLines?: number;
    totalBytes?: number;
    code?: string;
    message?: string;
  }[];
  complete: boolean;
  reason?: "bytes" | "error";
  notRead?: string[];
  hint?: string;
}

export interface RestoreInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Entry id (content after it), "<id>:before", "<id>:after" or "sha256:…"
   */
  to: string;
  /**
   * Only if the file still has this etag or hash
   */
  ifMatch?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface RestoreOutput {
  path: string;
  restored: boolean;
  created: boolean;
  size: number;
  etag?: string;
  kept?: false;
  reason?: string;
  hint?: string;
  operationId?: string;
}

export interface TrashInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Only what was deleted below it
   */
  path?: string;
  /**
   * nextCursor of the page before
   */
  cursor?: string;
}

export interface TrashOutput {
  entries: {
    id: string;
    path: string;
    kind: "file" | "directory" | "link" | "other";
    size?: number;
    deleted: number;
    by: string;
  }[];
  complete: boolean;
  reason?: string;
  hint?: string;
  nextCursor?: string;
}

export interface UndoInput {
  /**
   * Default the root of the changes
   */
  root?: string;
  /**
   * Entry or group, from file_history
   */
  id?: string;
  /**
   * Entries of one root, 1-500
   *
   * @minItems 1
   * @maxItems 500
   */
  ids?: string[];
  /**
   * Your newest changes in this session, 1-50; a group is one
   */
  last?: number;
  /**
   * Group, from file_history
   */
  group?: string;
  /**
   * With last: another session, or "*"; operator only
   */
  via?: string;
  /**
   * Only say what would happen
   */
  dryRun?: boolean;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface UndoOutput {
  undone: string[];
  id?: string;
  group?: string;
  files: {
    root?: string;
    path: string;
    etag?: string | null;
  }[];
  filesTruncated?: true;
  atomic?: false;
  diff: string;
  diffTruncated: boolean;
  dryRun?: true;
  blocked?: {
    id: string;
    path: string;
    by: string;
    laterId?: string;
  }[];
  kept?: false;
  reason?: string;
  hint?: string;
  operationId?: string;
}

export interface RootsInput {}

export interface RootsOutput {
  roots: {
    name: string;
    path: string;
    kind: "host" | "temp" | "dlfs";
    readOnly: boolean;
    description?: string;
    quota?: {
      bytes?: number;
      usedBytes?: number;
      files?: number;
      usedFiles?: number;
    };
    deny?: string[];
    protect?: string[];
    kept?: false;
    reason?: string;
  }[];
}

export interface ListInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Directory; default the root itself
   */
  path?: string;
  /**
   * Name to go on behind
   */
  after?: string;
  /**
   * Entries to skip
   */
  offset?: number;
  /**
   * 1-10000, default 1000
   */
  limit?: number;
}

export interface ListOutput {
  entries: {
    name: string;
    type: "file" | "directory" | "symlink" | "other";
    size: number;
    modified: number;
    unreachable?: true;
  }[];
  total: number;
  truncated: boolean;
  complete: boolean;
  reason?: "limit";
  hidden?: {
    policy?: number;
    unreadable?: number;
  };
  hint?: string;
}

export interface TreeInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Directory; default the root itself
   */
  path?: string;
  /**
   * 1-10, default 3
   */
  maxDepth?: number;
  /**
   * 1-5000, default 500
   */
  maxEntries?: number;
  /**
   * File sizes
   */
  info?: "size" | "";
  /**
   * Go into links
   */
  links?: "follow";
  /**
   * Default over MCP gitignore, else none
   */
  ignore?: "gitignore" | "none";
  /**
   * Globs to leave out
   */
  exclude?: string | string[];
}

export interface TreeOutput {
  tree: string;
  truncated: boolean;
  entries: number;
  depthLimited: boolean;
  complete: boolean;
  reason?: "limit" | "visited" | "depth" | "error";
  hidden?: {
    gitignored?: number;
    policy?: number;
    unreadable?: number;
  };
  hint?: string;
}

export interface ReadInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Default auto
   */
  mode?: "auto" | "text" | "bytes" | "json" | "";
  /**
   * First line, from 1
   */
  line?: number;
  /**
   * Lines
   */
  limit?: number;
  /**
   * Lines from the start
   */
  head?: number;
  /**
   * Lines from the end
   */
  tail?: number;
  /**
   * First byte
   */
  offset?: number;
  /**
   * Bytes
   */
  length?: number;
  /**
   * Cut text to this
   */
  maxBytes?: number;
  /**
   * N<tab> before lines
   */
  lineNumbers?: boolean;
  /**
   * If not UTF-8: latin1, …
   */
  encoding?: string;
  /**
   * As it was: "<id>:before" or ":after" a change
   */
  version?: string;
}

export interface ReadOutput {
  content?: string;
  value?: unknown;
  encoding?: string;
  size: number;
  mime: string;
  etag?: string;
  hash?: string;
  /**
   * In place of content: what the file is and how to get it
   */
  description?: string;
  /**
   * content is made from the file: cells of a notebook, text of a PDF
   */
  rendered?: "notebook" | "pdf";
  hint?: string;
  truncated?: boolean;
  complete?: boolean;
  reason?: "limit" | "bytes";
  startLine?: number;
  endLine?: number;
  nextLine?: number;
  offset?: number;
  length?: number;
  eof?: boolean;
  nextOffset?: number;
  /**
   * Of a tail that was cut: bytes left out before offset
   */
  omitted?: number;
  totalLines?: number;
  totalBytes?: number;
}

export interface StatInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File or directory
   */
  path: string;
  /**
   * Hash the content too
   */
  hash?: boolean;
  /**
   * As it was: "<id>:before" or ":after" a change
   */
  version?: string;
}

export interface StatOutput {
  exists: boolean;
  type?: "file" | "directory" | "symlink" | "other";
  size?: number;
  modified?: number;
  readOnly?: boolean;
  mime?: string;
  symlink?: true;
  etag?: string;
  hash?: string;
  hint?: string;
  suggestions?: {
    root: string;
    path: string;
  }[];
}

export interface GlobInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Relative to path
   */
  pattern: string | string[];
  /**
   * Default the root
   */
  path?: string;
  /**
   * Globs to leave out
   */
  exclude?: string | string[];
  /**
   * Default file
   */
  type?: "file" | "directory" | "any";
  /**
   * Go into links
   */
  links?: "follow";
  /**
   * Default gitignore
   */
  ignore?: "gitignore" | "none";
  /**
   * modified: newest first
   */
  sort?: "path" | "modified";
  /**
   * Default 200
   */
  limit?: number;
  /**
   * From nextCursor
   */
  cursor?: string;
  /**
   * Default 5000
   */
  timeoutMs?: number;
}

export interface GlobOutput {
  paths: string[];
  totalMatches: number;
  /**
   * How many files were compared, if none matched
   */
  filesSeen?: number;
  countIsComplete: boolean;
  timedOut: boolean;
  complete: boolean;
  reason?: "limit" | "bytes" | "timeout" | "visited" | "depth" | "error";
  nextCursor?: string;
  hidden?: {
    gitignored?: number;
    policy?: number;
    symlinks?: number;
    unreadable?: number;
    tooLarge?: number;
    binary?: number;
  };
  hint?: string;
}

export interface GrepInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * RE2 syntax
   */
  pattern: string;
  /**
   * Directory or file; default the root
   */
  path?: string;
  /**
   * Pattern is plain text
   */
  literal?: boolean;
  /**
   * Any case
   */
  ignoreCase?: boolean;
  /**
   * Match across lines
   */
  multiline?: boolean;
  /**
   * Only these, below path
   */
  glob?: string | string[];
  /**
   * Globs to leave out
   */
  exclude?: string | string[];
  /**
   * Lines before
   */
  before?: number;
  /**
   * Lines after
   */
  after?: number;
  /**
   * Lines around, 0-20
   */
  context?: number;
  /**
   * Default lines
   */
  output?: "lines" | "files" | "count";
  /**
   * Default 200
   */
  limit?: number;
  /**
   * From nextCursor
   */
  cursor?: string;
  /**
   * Go into links
   */
  links?: "follow";
  /**
   * Default gitignore
   */
  ignore?: "gitignore" | "none";
  /**
   * If not UTF-8: latin1, …
   */
  encoding?: string;
  /**
   * Default 8 MB, for a file as path none
   */
  maxFileBytes?: number;
  /**
   * Default 10000
   */
  timeoutMs?: number;
}

export interface GrepOutput {
  matches?: {
    path: string;
    line: number;
    text: string;
    before?: string[];
    after?: string[];
    endLine?: number;
    cut?: true;
  }[];
  paths?: string[];
  counts?: {
    path: string;
    count: number;
  }[];
  filesScanned: number;
  totalMatches: number;
  countIsComplete: boolean;
  timedOut: boolean;
  complete: boolean;
  reason?: "limit" | "bytes" | "timeout" | "visited" | "depth" | "error";
  nextCursor?: string;
  hidden?: {
    gitignored?: number;
    policy?: number;
    symlinks?: number;
    unreadable?: number;
    tooLarge?: number;
    binary?: number;
  };
  hint?: string;
}

export interface WriteInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Text
   */
  content?: string;
  /**
   * JSON value
   */
  value?: unknown;
  /**
   * Base64
   */
  bytes?: string;
  /**
   * Asset reference
   */
  asset?: string;
  /**
   * Create missing parent directories
   */
  parents?: boolean;
  /**
   * If not UTF-8: latin1, …
   */
  encoding?: string;
  /**
   * Etag it must have
   */
  ifMatch?: string;
  /**
   * "*": must be new
   */
  ifNoneMatch?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface WriteOutput {
  written: number;
  created: boolean;
  etag?: string;
  hint?: string;
  kept?: false;
  reason?: string;
  operationId?: string;
}

export interface EditInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Or the same fields for one edit
   *
   * @minItems 1
   * @maxItems 100
   */
  edits?: {
    /**
     * Exact text
     */
    oldText?: string;
    /**
     * Its replacement
     */
    newText: string;
    expect?: number;
    /**
     * All occurrences
     */
    replaceAll?: boolean;
    /**
     * In place of oldText: the line to insert before
     */
    at?: number;
  }[];
  /**
   * Exact text
   */
  oldText?: string;
  /**
   * Its replacement
   */
  newText?: string;
  /**
   * Occurrences, default 1
   */
  expect?: number;
  /**
   * All occurrences
   */
  replaceAll?: boolean;
  /**
   * As in edits
   */
  at?: number;
  /**
   * Of a notebook: edit its source
   */
  cell?: number;
  /**
   * Convert all lines
   */
  lineEnding?: "lf" | "crlf";
  /**
   * If not UTF-8: latin1, …
   */
  encoding?: string;
  /**
   * etag or hash it must have
   */
  ifMatch?: string;
  /**
   * Only the diff
   */
  dryRun?: boolean;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface EditOutput {
  path: string;
  etag?: string;
  previousEtag?: string;
  size: number;
  applied: number;
  firstChangedLine?: number;
  diff?: string;
  diffTruncated?: boolean;
  dryRun?: true;
  hint?: string;
  kept?: false;
  reason?: string;
  operationId?: string;
}

export interface AppendInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Text
   */
  content?: string;
  /**
   * JSON value
   */
  value?: unknown;
  /**
   * Base64
   */
  bytes?: string;
  /**
   * Asset reference
   */
  asset?: string;
  /**
   * Create missing parent directories
   */
  parents?: boolean;
  /**
   * If not UTF-8: latin1, …
   */
  encoding?: string;
  /**
   * Etag it must have
   */
  ifMatch?: string;
  /**
   * Bytes it must have
   */
  expectedSize?: number;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface AppendOutput {
  appended: number;
  created: boolean;
  size: number;
  etag?: string;
  alreadyApplied?: boolean;
  hint?: string;
  operationId?: string;
}

export interface MkdirInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Directory
   */
  path: string;
  /**
   * Create missing parent directories
   */
  parents?: boolean;
  /**
   * "*": must be new
   */
  ifNoneMatch?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface MkdirOutput {
  created: boolean;
  path: string;
  hint?: string;
  operationId?: string;
}

export interface MoveInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Source
   */
  path: string;
  /**
   * Target: its whole new path
   */
  to: string;
  /**
   * Root of to; default root
   */
  toRoot?: string;
  /**
   * Replace a file by a file
   */
  overwrite?: boolean;
  /**
   * Create missing parent directories of to
   */
  parents?: boolean;
  /**
   * etag or hash the source must have
   */
  ifMatch?: string;
  /**
   * etag or hash the target must have
   */
  ifMatchTo?: string;
  /**
   * "*": the target must not exist
   */
  ifNoneMatchTo?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface MoveOutput {
  path: string;
  to: string;
  moved: boolean;
  overwritten: boolean;
  etag?: string;
  files?: number;
  atomic: boolean;
  hint?: string;
  kept?: false;
  reason?: string;
  operationId?: string;
}

export interface CopyInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Source
   */
  path: string;
  /**
   * Target: its whole new path
   */
  to: string;
  /**
   * Root of to; default root
   */
  toRoot?: string;
  /**
   * Replace a file by a file
   */
  overwrite?: boolean;
  /**
   * Create missing parent directories of to
   */
  parents?: boolean;
  /**
   * Also a directory with all in it
   */
  recursive?: boolean;
  /**
   * etag or hash the source must have
   */
  ifMatch?: string;
  /**
   * etag or hash the target must have
   */
  ifMatchTo?: string;
  /**
   * "*": the target must not exist
   */
  ifNoneMatchTo?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface CopyOutput {
  path: string;
  to: string;
  copied: boolean;
  overwritten: boolean;
  etag?: string;
  files: number;
  atomic: boolean;
  hidden?: {
    symlinks?: number;
    policy?: number;
    unreadable?: number;
  };
  hint?: string;
  kept?: false;
  reason?: string;
  operationId?: string;
}

export interface DeleteInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File or directory
   */
  path: string;
  /**
   * Also a directory with all in it
   */
  recursive?: boolean;
  /**
   * Not into the trash
   */
  permanent?: boolean;
  /**
   * Etag it must have
   */
  ifMatch?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface DeleteOutput {
  deleted: boolean;
  existed: boolean;
  trashed?: boolean;
  id?: string;
  reason?: string;
  hint?: string;
  operationId?: string;
}

export interface DuInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * Default the root itself
   */
  path?: string;
  /**
   * Levels named, 0-10, default 1
   */
  depth?: number;
  /**
   * 1-10000, default 100
   */
  limit?: number;
  /**
   * Default 10000
   */
  timeoutMs?: number;
}

export interface DuOutput {
  path: string;
  bytes: number;
  files: number;
  directories: number;
  children: {
    path: string;
    bytes: number;
    files: number;
  }[];
  timedOut: boolean;
  complete: boolean;
  reason?: "limit" | "bytes" | "timeout" | "visited" | "depth" | "error";
  hidden?: {
    policy?: number;
    symlinks?: number;
    unreadable?: number;
  };
  hint?: string;
}

export interface WatchInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File or directory, default all
   */
  path?: string;
  /**
   * Below directories too, default true
   */
  recursive?: boolean;
  /**
   * From the last answer
   */
  cursor?: string;
  /**
   * Wait for a change, ms, default 0
   */
  waitMs?: number;
  /**
   * Most changes, default 200
   */
  limit?: number;
}

export interface WatchOutput {
  events: {
    type: "created" | "modified" | "deleted" | "moved";
    path: string;
    from?: string;
    entryType: "file" | "directory";
    etag?: string;
    origin: "adapter" | "external";
  }[];
  cursor: string;
  overflow: boolean;
  complete: boolean;
  reason?: "limit" | "visited";
  hint?: string;
}

export interface TransferInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File
   */
  path: string;
  /**
   * Read or replace the file
   */
  direction: "download" | "upload";
  /**
   * Up to 3600, default 300
   */
  ttlSeconds?: number;
}

export interface TransferOutput {
  href: string;
  method: "GET" | "PUT";
  /**
   * Epoch ms
   */
  expires: number;
}

/** Input of each operation. */
export interface FileInputs {
  readonly "file:hash": HashInput;
  readonly "file:history": HistoryInput;
  readonly "file:patch": PatchInput;
  readonly "file:purge": PurgeInput;
  readonly "file:readMany": ReadManyInput;
  readonly "file:restore": RestoreInput;
  readonly "file:trash": TrashInput;
  readonly "file:undo": UndoInput;
  readonly "file:roots": RootsInput;
  readonly "file:list": ListInput;
  readonly "file:tree": TreeInput;
  readonly "file:read": ReadInput;
  readonly "file:stat": StatInput;
  readonly "file:glob": GlobInput;
  readonly "file:grep": GrepInput;
  readonly "file:write": WriteInput;
  readonly "file:edit": EditInput;
  readonly "file:append": AppendInput;
  readonly "file:mkdir": MkdirInput;
  readonly "file:move": MoveInput;
  readonly "file:copy": CopyInput;
  readonly "file:delete": DeleteInput;
  readonly "file:du": DuInput;
  readonly "file:watch": WatchInput;
  readonly "file:transfer": TransferInput;
}

/** Output of each operation. */
export interface FileOutputs {
  readonly "file:hash": HashOutput;
  readonly "file:history": HistoryOutput;
  readonly "file:patch": PatchOutput;
  readonly "file:purge": PurgeOutput;
  readonly "file:readMany": ReadManyOutput;
  readonly "file:restore": RestoreOutput;
  readonly "file:trash": TrashOutput;
  readonly "file:undo": UndoOutput;
  readonly "file:roots": RootsOutput;
  readonly "file:list": ListOutput;
  readonly "file:tree": TreeOutput;
  readonly "file:read": ReadOutput;
  readonly "file:stat": StatOutput;
  readonly "file:glob": GlobOutput;
  readonly "file:grep": GrepOutput;
  readonly "file:write": WriteOutput;
  readonly "file:edit": EditOutput;
  readonly "file:append": AppendOutput;
  readonly "file:mkdir": MkdirOutput;
  readonly "file:move": MoveOutput;
  readonly "file:copy": CopyOutput;
  readonly "file:delete": DeleteOutput;
  readonly "file:du": DuOutput;
  readonly "file:watch": WatchOutput;
  readonly "file:transfer": TransferOutput;
}
