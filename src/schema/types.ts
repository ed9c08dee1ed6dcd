// Generated from schemas/ by `npm run types`. Do not edit.

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
    rendered?: "notebook" | "pdf" | "docx" | "xlsx" | "pptx" | "odt" | "ods";
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
  warnings?: string[];
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
  warnings?: string[];
  hint?: string;
}

export interface ReadInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File; also x.zip!/entry
   */
  path: string;
  /**
   * Default auto
   */
  mode?: "auto" | "text" | "bytes" | "json" | "extract" | "";
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
   * extract: 3, 3-5
   */
  pages?:
    | string
    | number
    | {
        first?: number;
        last?: number;
      };
  /**
   * extract: default 16000
   */
  maxChars?: number;
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
  url?: string;
  etag?: string;
  hash?: string;
  /**
   * In place of content: what the file is and how to get it
   */
  description?: string;
  /**
   * content is made from the file: cells of a notebook, text of a document
   */
  rendered?: "notebook" | "pdf" | "docx" | "xlsx" | "pptx" | "odt" | "ods";
  /**
   * Of mode extract
   */
  text?: string;
  chars?: number;
  pages?: number;
  firstPage?: number;
  lastPage?: number;
  meta?: {
    title?: string;
    author?: string;
    created?: string;
    sheets?: string[];
    scanned?: boolean;
    note?: string;
  };
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
   * PDF, docx, xlsx … too
   */
  documents?: boolean;
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
    page?: number;
    slide?: number;
    sheet?: string;
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

export interface CreateInput {
  /**
   * Root name, from file_roots
   */
  root: string;
  /**
   * File; default content.fileName
   */
  path?: string;
  /**
   * At most one of inline, ref, dlfs; none and no sha256: empty
   */
  content?: {
    /**
     * Text
     */
    inline?: string;
    /**
     * File or asset reference: file://<root>/<path>, dlfs/<drive>/<path>
     */
    ref?: string;
    /**
     * Another word for ref
     */
    dlfs?: string;
    /**
     * Hash the content must have; alone, stored content with it
     */
    sha256?: string;
    /**
     * Media type
     */
    contentType?: string;
    /**
     * Path of the file where path is left out
     */
    fileName?: string;
  };
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface CreateOutput {
  ref: string;
  written: number;
  created: true;
  contentType?: string;
  etag?: string;
  hint?: string;
  operationId?: string;
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
   * File or asset reference: file://<root>/<path>, dlfs/<drive>/<path>
   */
  contentRef?: string;
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
   * File or asset reference: file://<root>/<path>, dlfs/<drive>/<path>
   */
  contentRef?: string;
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
   * In place of path: a path, file://<root>/<path> or dlfs/<drive>/<path>
   */
  from?: string;
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
  path?: string;
  from?: string;
  to: string;
  moved: boolean;
  overwritten?: boolean;
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
   * In place of path: a path, file://<root>/<path> or dlfs/<drive>/<path>
   */
  from?: string;
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
  path?: string;
  from?: string;
  to: string;
  copied: boolean;
  overwritten?: boolean;
  etag?: string;
  files?: number;
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

export interface ArchiveListInput {
  root?: string;
  /**
   * The archive
   */
  path?: string;
  /**
   * In place of path: an asset or reference
   */
  asset?: string;
  /**
   * In place of path: base64, to 8 MB
   */
  bytes?: string;
}

export interface ArchiveListOutput {
  entries: {
    name: string;
    size: number;
    compressedSize: number;
    directory: boolean;
    modified: number;
    encrypted?: true;
  }[];
  count: number;
  truncated: boolean;
  hidden?: {
    unreadable?: number;
    policy?: number;
  };
}

export interface ArchiveExtractInput {
  root?: string;
  /**
   * The archive
   */
  path?: string;
  /**
   * In place of path: an asset or reference
   */
  asset?: string;
  /**
   * In place of path: base64, to 8 MB
   */
  bytes?: string;
  /**
   * Root name
   */
  destRoot: string;
  /**
   * Directory; default the top
   */
  destPath?: string;
  /**
   * Default true
   */
  overwrite?: boolean;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface ArchiveExtractOutput {
  extracted: number;
  bytes: number;
  destRoot: string;
  files: string[];
  truncated: boolean;
  atomic: boolean;
  hidden?: {
    symlinks?: number;
    special?: number;
  };
  group?: string;
  hint?: string;
  kept?: false;
  reason?: string;
  operationId?: string;
}

export interface ArchiveZipInput {
  /**
   * Root name
   */
  root: string;
  /**
   * File or directory
   */
  path?: string;
  /**
   * Files, directories
   *
   * @minItems 1
   * @maxItems 1000
   */
  paths?: string[];
  /**
   * Default root
   */
  destRoot?: string;
  /**
   * Its path; none: an asset
   */
  destPath?: string;
  /**
   * Of the asset
   */
  name?: string;
  /**
   * "*": the zip must not exist
   */
  ifNoneMatch?: string;
  /**
   * Name of this change: repeating the call with it has no second effect
   */
  operationId?: string;
}

export interface ArchiveZipOutput {
  entries: number;
  bytes: number;
  destRoot?: string;
  destPath?: string;
  etag?: string;
  asset?: string;
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

/** An input whose named fields a call may leave out, where a reference says them. */
export type Unnamed<Input, Fields extends keyof Input> = Omit<Input, Fields> & Partial<Pick<Input, Fields>>;

/** Input of each operation. */
export interface FileInputs {
  readonly "file:hash": Unnamed<HashInput, "root">;
  readonly "file:history": HistoryInput;
  readonly "file:patch": Unnamed<PatchInput, "root">;
  readonly "file:purge": Unnamed<PurgeInput, "root">;
  readonly "file:readMany": Unnamed<ReadManyInput, "root">;
  readonly "file:restore": Unnamed<RestoreInput, "root">;
  readonly "file:trash": Unnamed<TrashInput, "root">;
  readonly "file:undo": UndoInput;
  readonly "file:roots": RootsInput;
  readonly "file:list": Unnamed<ListInput, "root">;
  readonly "file:tree": Unnamed<TreeInput, "root">;
  readonly "file:read": Unnamed<ReadInput, "root">;
  readonly "file:stat": Unnamed<StatInput, "root">;
  readonly "file:glob": Unnamed<GlobInput, "root">;
  readonly "file:grep": Unnamed<GrepInput, "root">;
  readonly "file:create": Unnamed<CreateInput, "root">;
  readonly "file:write": Unnamed<WriteInput, "root">;
  readonly "file:edit": Unnamed<EditInput, "root">;
  readonly "file:append": Unnamed<AppendInput, "root">;
  readonly "file:mkdir": Unnamed<MkdirInput, "root">;
  readonly "file:move": Unnamed<MoveInput, "root" | "path">;
  readonly "file:copy": Unnamed<CopyInput, "root" | "path">;
  readonly "file:delete": Unnamed<DeleteInput, "root">;
  readonly "file:du": Unnamed<DuInput, "root">;
  readonly "file:watch": Unnamed<WatchInput, "root">;
  readonly "file:transfer": Unnamed<TransferInput, "root">;
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
  readonly "file:create": CreateOutput;
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

/** Configuration of a venue, as written by an embedder or in a file; every key has a default. */
export interface VenueConfigInput {
  /** Name of the venue, shown in its status and over MCP. */
  readonly name?: string;
  /** Address to listen on. */
  readonly hostname?: string;
  /** Port to listen on; 0 takes any free port and reports it after start. */
  readonly port?: number;
  /** A Unix socket to listen on, in place of hostname and port. */
  readonly listen?: {
    /** Path of the socket; made with mode 0600. */
    readonly socket: string;
  };
  /** Public URL, if a proxy gives the venue another one. */
  readonly baseUrl?: string;
  /** Further names by which clients reach the venue. */
  readonly hosts?: readonly string[];
  /** Whether X-Forwarded-* headers say who calls, and by which address. */
  readonly trustProxy?: boolean;
  /** Key of the venue's identity: a 32-byte Ed25519 seed. */
  readonly seed?: string;
  /** File that holds the seed; made with mode 0600 when it is absent. */
  readonly seedFile?: string;
  /** The venue's DID. A did:key must be that of the seed. */
  readonly did?: string;
  /** DID with authority over every root. */
  readonly operator?: string;
  /** Folder for the local token, keys made by 'key new', the revocation list and drives; made with mode 0700 where something needs it. */
  readonly stateDir?: string | false;
  /** Who may call. */
  readonly auth?: {
    /** Public access: what callers without credentials may do. */
    readonly public?: {
      /** Whether callers without credentials are served. */
      readonly enabled?: boolean;
      /** What they, and all others, may do in roots without an owner. */
      readonly caps?: readonly {
        /** file://<root>/<path>; covers everything below. */
        readonly with: string;
        /** crud/read, crud/write, crud/delete, crud, exec/run or *. */
        readonly can: string;
      }[];
    };
    /** Whether serve makes a token for the operator, keeps it in stateDir and prints it. */
    readonly localToken?: boolean;
    /** Bearer tokens agreed on beforehand, for clients that cannot sign. */
    readonly tokens?: readonly {
      /** Name of the token, which is shown in its place; unique. */
      readonly name: string;
      /** Where the token is found; exactly one of env, file and sha256. */
      readonly token: {
        /** Environment variable that holds it. */
        readonly env?: string;
        /** File that holds it. */
        readonly file?: string;
        /** Its SHA-256, so that the token itself is nowhere here. */
        readonly sha256?: string;
      };
      /** Whom the bearer is taken for; never the operator or the owner of a root. */
      readonly did?: string;
      /** What the bearer may do. */
      readonly caps: readonly {
        /** file://<root>/<path>; covers everything below. */
        readonly with: string;
        /** crud/read, crud/write, crud/delete, crud, exec/run or *. */
        readonly can: string;
      }[];
    }[];
    /** Capabilities of callers who sign, by their DID; they hold in roots with an owner too. */
    readonly grants?: readonly {
      /** Whom it is given to: a did:key, or the DID of a token of auth.tokens. */
      readonly did: string;
      /** file://<root>/<path>; covers everything below. */
      readonly with: string;
      /** crud/read, crud/write, crud/delete, crud, exec/run or *. */
      readonly can: string;
    }[];
    /** How UCANs, the tokens by which owners pass rights on, are judged. */
    readonly ucan?: {
      /** Seconds from now that the end of a UCAN may be away at most; 366 days unless set, 100 years at most. */
      readonly maxLifetime?: number;
      /** Whether UCANs that state to have no end (exp: null) are taken; only revoking ends those. */
      readonly allowNoExpiry?: boolean;
      /** Whether UCANs of old Java venues, which state no version, are taken. */
      readonly acceptUnversionedCovia?: boolean;
      /** Revocation list, which must exist: one id of a token, DID, or jti:<jti>, a line; # begins a comment. */
      readonly revocations?: string;
    };
    /** Outside issuers (OAuth 2.1, OpenID Connect) whose JWTs are taken as bearer tokens; a reload changes them. */
    readonly issuers?: readonly {
      /** Its URL, exactly as its tokens say it in iss. */
      readonly issuer: string;
      /** What aud must name one of. */
      readonly audience?: readonly string[];
      /** URL of its keys (JWKS). */
      readonly jwks?: string;
      /** Algorithms that its signatures may be made by. */
      readonly algorithms?: readonly ("ES256" | "EdDSA" | "Ed25519" | "RS256" | "PS256")[];
      /** Claims that each token must have, whatever they say. */
      readonly requiredClaims?: readonly string[];
      /** Which tokens give what. */
      readonly map: readonly {
        /** Claims, each with its text, or a text in its list. */
        readonly when: Readonly<Record<string, string>>;
        /** What the bearer may do. */
        readonly caps: readonly {
          /** file://<root>/<path>; covers everything below. */
          readonly with: string;
          /** crud/read, crud/write, crud/delete, crud, exec/run or *. */
          readonly can: string;
        }[];
      }[];
    }[];
    /** Seconds by which the clock of who signed a token may be off. */
    readonly clockSkew?: number;
    /** Seconds an identity token may be valid at most. */
    readonly maxIdentityLifetime?: number;
    /** Whether an identity token without audience is accepted, for at most 300 seconds. */
    readonly acceptUnboundIdentity?: boolean;
  };
  /** State that several instances of this venue share, in PostgreSQL 14 or later; see docs/cluster.md. */
  readonly shared?: {
    /** The database, prepared by 'venue-files cluster init'. */
    readonly postgres: {
      /** postgres://user:password@host/database. */
      readonly url: {
        /** Environment variable that holds it. */
        readonly env?: string;
        /** File that holds it, and nothing else. */
        readonly file?: string;
      };
      /** Schema of its tables. */
      readonly schema?: string;
    };
    /** URL by which the other instances reach this one. */
    readonly advertise?: string;
    /** How long calls are still taken after SIGTERM, while /readyz says 503. */
    readonly drainMs?: number;
  };
  /** Origins whose pages may call; "*": any, which needs auth.public.caps where callers without credentials are served. */
  readonly corsOrigins?: "*" | readonly string[];
  /** Largest JSON request body. */
  readonly maxRequestBytes?: number;
  /** Most bytes of request bodies and answers held in memory at once; one caller gets a quarter. */
  readonly maxInFlightBytes?: number;
  /** Largest content of an asset, also where it is written to a file. */
  readonly maxContentSize?: number;
  /** Requests of one caller; over it they get 429. false: no limit. */
  readonly rateLimit?: false | {
    /** Requests a second in the long run. */
    readonly perSecond?: number;
    /** Requests at once after a pause. */
    readonly burst?: number;
  };
  /** Roots and drives as folders that can be mounted, at /dav/ and /dlfs/. Default on loopback: true; elsewhere false. */
  readonly webdav?: boolean | {
    /** Whether it is on. */
    readonly enabled?: boolean;
    /** Whether callers without credentials are served, as far as auth.public goes. */
    readonly anonymous?: boolean;
    /** Longest time of a lock; without a refresh it ends then. */
    readonly lockSeconds?: number;
    /** Most locks at once; one caller gets at most 1000. */
    readonly maxLocks?: number;
  };
  /** Where the content of assets is kept. */
  readonly storage?: {
    /** memory: until the venue stops. */
    readonly content?: "memory" | "file" | "s3";
    /** Folder for the content; only with content "file", which needs it. */
    readonly path?: string;
    /** Object storage, as of drives, below assets/; only with content "s3", which needs it. */
    readonly s3?: {
      /** Name of the bucket, which must exist. */
      readonly bucket: string;
      /** What the names of all objects begin with, and a slash. */
      readonly prefix?: string;
      /** Where a server other than AWS answers. */
      readonly endpoint?: string;
      /** Region of the bucket. */
      readonly region?: string;
    };
  };
  /** Assets: metadata with an id, and their content. */
  readonly assets?: {
    /** Most bytes of all assets together. */
    readonly maxTotalBytes?: number;
    /** Who may register and upload. */
    readonly write?: "public" | "operator";
  };
  /** Jobs (runs of operations) are kept in memory. */
  readonly jobs?: {
    /** How long an invoke request waits for its job to finish. */
    readonly inlineWaitMs?: number;
    /** How long an invoke request with wait: true, or an MCP tool call, waits for its job to finish. */
    readonly maxWaitMs?: number;
    /** Most finished jobs kept; the oldest go first. */
    readonly max?: number;
    /** Most bytes of finished jobs kept; the oldest go first. */
    readonly maxBytes?: number;
    /** How long a finished job is kept. */
    readonly ttlMs?: number;
  };
  /** The MCP endpoint; false switches it off. */
  readonly mcp?: false | {
    /** Most bytes of a read that passes no maxBytes. */
    readonly defaultReadBytes?: number;
    /** Most lines of a text read that asks for no range. */
    readonly defaultReadLines?: number;
    /** Most bytes of any read over MCP. At most file.limits.maxReadBytes. */
    readonly maxReadBytes?: number;
    /** Which file operations are offered: the 14 that agents use all day, or all of them. */
    readonly tools?: "default" | "full";
    /** What the server says of itself. */
    readonly serverInfo?: {
      /** Name for programs. */
      readonly name?: string;
      /** Name for people. */
      readonly title?: string;
      /** Version. */
      readonly version?: string;
    };
    /** Adapters whose operations are tools. */
    readonly includeAdapters?: readonly string[];
    /** Only operations whose catalogue path starts with one of these are tools. */
    readonly includePathPrefixes?: readonly string[];
  };
  /** Record of every call. */
  readonly audit?: {
    /** File that gets one JSON line a call. */
    readonly file?: string;
    /** Size at which the file is put aside and a new one begun. */
    readonly maxBytes?: number;
    /** Old files kept, beside the current one. */
    readonly keep?: number;
  };
  /** Structured log. */
  readonly log?: {
    /** Least important lines that are written. */
    readonly level?: "debug" | "info" | "warn" | "error" | "silent";
    /** File for the lines. */
    readonly file?: string;
  };
  /** Who may read /metrics; false: nobody. */
  readonly metrics?: "operator" | "public" | false;
  /** The web page at /workspace/, where people see files, changes and rights. */
  readonly workspace?: boolean | {
    /** Whether browsers keep unsaved text, so that it outlasts a closed tab; false: in memory only. */
    readonly drafts?: boolean;
  };
  /** Tool sets of other systems, each on one root, by the names of their adapters. */
  readonly profiles?: Readonly<Record<string, ProfileConfigInput>>;
  /** Drives: trees of each caller's own, signed with a key of its own. */
  readonly drives?: {
    /** Where drives are kept; memory: until the venue stops. */
    readonly store?: "memory" | {
      /** Folder for the drives, on a disk of this machine; made with mode 0700. Default: none. */
      readonly path?: string;
      /** Object storage, which any number of venues share. */
      readonly s3?: {
        /** Name of the bucket, which must exist. */
        readonly bucket: string;
        /** What the names of all objects begin with, and a slash. */
        readonly prefix?: string;
        /** Where a server other than AWS answers. */
        readonly endpoint?: string;
        /** Region of the bucket. */
        readonly region?: string;
      };
    };
    /** How long a read may go without asking the store whether another process has changed a drive. */
    readonly staleMs?: number;
    /** How far ahead of the clock the times of what is imported may lie. */
    readonly futureSkewMs?: number;
    /** Check the hash of everything that is read from the store. */
    readonly verifyReads?: boolean;
    /** Let callers have the key that signs their own drives, by drive:export-key. */
    readonly allowKeyExport?: boolean;
    /** How much the log of each owner's drives keeps, from which changes are undone; the oldest goes first. */
    readonly journalQuota?: {
      /** Most bytes of replaced and deleted content that only the log needs. */
      readonly bytes?: number;
      /** Most entries. */
      readonly entries?: number;
      /** Days that entries and content are kept at most. */
      readonly days?: number;
    };
    /** What drives may grow to. */
    readonly limits?: {
      /** Most names in a path. */
      readonly maxPathDepth?: number;
      /** Most bytes of one file; what one write may bring is limited besides. */
      readonly maxFileBytes?: number;
      /** Most bytes of all files in the drives of one owner. */
      readonly maxDriveBytes?: number;
      /** Most entries of one directory; what was deleted counts. */
      readonly maxEntries?: number;
      /** Most bytes of what is imported at once. */
      readonly maxImportBytes?: number;
      /** Most cells of what is imported at once. */
      readonly maxImportCells?: number;
      /** Most bytes of all files of what is imported at once. */
      readonly maxImportLogicalBytes?: number;
      /** Most entries of what is imported at once. */
      readonly maxImportEntries?: number;
    };
  };
  readonly file?: FileConfigInput;
}

/** Configuration of the file adapter, as written by an embedder; every key has a default. */
export interface FileConfigInput {
  /** Directories that are served, by name. */
  readonly roots?: Readonly<Record<string, string | RootConfigInput>>;
  /** Whether file:roots shows host paths. */
  readonly discloseHostPaths?: boolean;
  /** Limits of one operation, whatever the surface. */
  readonly limits?: {
    /** Most bytes one read returns. */
    readonly maxReadBytes?: number;
    /** Most bytes of content, value or bytes in one write or append. */
    readonly maxWriteBytes?: number;
    /** Most bytes of one file that is uploaded to /api/v1/files. */
    readonly maxUploadBytes?: number;
    /** Longest run of one operation. */
    readonly timeoutMs?: number;
    /** Operations running at once; further calls wait, and callers take turns. */
    readonly maxConcurrent?: number;
  };
}

/** A profile, as written in a config. */
export interface ProfileConfigInput {
  /** Which one. */
  readonly profile: "jettson" | "everruns";
  /** Root that its tools are bound to. */
  readonly root: string;
  /** Directory of the root that is all the tools see; made by the first write. */
  readonly prefix?: string;
  /** What shown paths begin with; null: nothing. */
  readonly alias?: string | null;
  /** Which of its variants: strict is that of the first page, 0.50 the tools as they are now. */
  readonly variant?: "strict" | "0.50";
  /** What becomes of an edit of a file that has changed; rebase, only in variant 0.50, applies it where each old text is there exactly once. */
  readonly onStale?: "rebase" | "reject";
  /** Whether the directory is cloned before each command, so that everything a command changes can be undone: up to 20,000 files where blocks can be shared, else 2,000 files of 64 MB. Needs a shell, and a root with a journal. */
  readonly snapshot?: boolean;
  /** Its shell tool, and where commands run. */
  readonly shell?: {
    /** What keeps commands in: auto is bwrap where it works, else none; just-bash is a shell without programs of the host. */
    readonly driver?: "auto" | "bwrap" | "just-bash" | "none";
    /** Whether commands reach the network, but not loopback of the host; by pasta or slirp4netns. */
    readonly network?: boolean;
    /** User that commands run as where the venue runs as root. */
    readonly uid?: number;
    /** Group that commands run as where the venue runs as root. */
    readonly gid?: number;
    /** Folders of the host that commands may read, such as a toolchain. */
    readonly extraMounts?: readonly {
      /** The folder. */
      readonly path: string;
      /** Where commands see it. */
      readonly at?: string;
    }[];
    /** Size of the temp directory of a command. */
    readonly scratchBytes?: number;
    /** What one command may use. */
    readonly limits?: {
      /** Processes of one command; before Linux 5.14, of the user that commands run as. */
      readonly nproc?: number;
      /** Bytes of one file that it writes. */
      readonly fsize?: number;
      /** Bytes of memory of one process; of all of a run where it has a control group. */
      readonly data?: number;
      /** Descriptors of one process. */
      readonly nofile?: number;
      /** Bytes of a core dump. */
      readonly core?: number;
    };
    /** Run commands as plain processes of the host, with all that the venue may do. */
    readonly unsafe?: boolean;
  };
}

/** A host directory, as written in a config. */
export interface HostRootInput {
  /** Host directory; must exist. */
  readonly path: string;
  /** Only with path, where the venue has several instances: all of them run on this machine and see it. */
  readonly shared?: true;
  /** Refuse write, append, mkdir and delete. */
  readonly readOnly?: boolean;
  /** Note about the root, returned by file:roots. */
  readonly description?: string;
  /** flush: a write is on the disk before it is answered; none: after a power failure what was written last may be missing or damaged. */
  readonly durability?: "flush" | "none";
  /** Walk into directories that are on another device. */
  readonly crossDevice?: boolean;
  /** Append in place to a file that has several hard links. */
  readonly hardLinks?: boolean;
  /** Where small calls run; auto: in the thread pool on network file systems and FUSE, else synchronous. */
  readonly io?: "auto" | "sync" | "pool";
  /** Most bytes one read in this root returns. */
  readonly maxReadBytes?: number;
  /** What the files in it may take together. */
  readonly quota?: {
    /** Most bytes of all files, as long as they say they are. */
    readonly bytes?: number;
    /** Most files; directories and links do not count. */
    readonly files?: number;
  };
  /** on: every change is recorded in stateDir with what was there before, so that it can be undone; metadata: without content; off: not at all. */
  readonly journal?: "off" | "metadata" | "on";
  /** How much the journal keeps; the oldest of whoever keeps most goes first. */
  readonly journalQuota?: {
    /** Most bytes of replaced and deleted content. */
    readonly bytes?: number;
    /** Most entries. */
    readonly entries?: number;
    /** Days that entries and content are kept at most. */
    readonly days?: number;
  };
  /** Where journal is on: auto moves what is deleted to .venue-files/trash in the root, and deletes for good what cannot be kept; required refuses to delete that; off deletes for good. */
  readonly trash?: "auto" | "required" | "off";
  /** Globs of what no caller gets to, neither seen nor changed: without '/' a base name at any depth, else from the top of the root; a directory covers all below. */
  readonly deny?: readonly string[];
  /** Globs, as in deny, of what callers may read but not change. */
  readonly protect?: readonly string[];
  /** Changes that a person has to allow first: the call fails with APPROVAL_REQUIRED, and is repeated with the id once somebody who holds the ability approve has decided. */
  readonly approve?: {
    /** What has to be allowed. */
    readonly for: readonly ("delete" | "overwrite" | "edit" | "move" | "create" | "exec" | "all")[];
    /** Only what concerns more than so many entries or bytes: the larger of what goes and what comes. */
    readonly over?: {
      /** Most entries of one call that need no approval. */
      readonly entries?: number;
      /** Most bytes of one call that need no approval. */
      readonly bytes?: number;
    };
    /** How long a request waits for a decision, and how long an approval can be used. */
    readonly minutes?: number;
    /** The user of an MCP or ACP client that can ask may decide about the call that waits, and no other. */
    readonly elicit?: boolean;
  };
  /** How text in it is written: utf-8 (and UTF-16 where a byte order mark says so), utf-16le, latin1, windows-1252, shift_jis, … Taken at its word: nothing is guessed. */
  readonly encoding?: string;
  /** What file:grep searches with. */
  readonly grep?: "auto" | "re2js";
  /** DID of whoever may do everything in it and signs the UCANs for it; public access ends there. */
  readonly owner?: string;
}

/** A temp root, as written in a config. */
export interface TempRootInput {
  /** A fresh private directory, removed when the venue stops. */
  readonly temp: true;
  /** Name prefix of the temp directory. */
  readonly prefix?: string;
  /** Only with temp, where the venue has several instances: each has a directory of its own. */
  readonly perInstance?: true;
  /** Refuse write, append, mkdir and delete. */
  readonly readOnly?: boolean;
  /** Note about the root, returned by file:roots. */
  readonly description?: string;
  /** flush: a write is on the disk before it is answered; none: after a power failure what was written last may be missing or damaged. */
  readonly durability?: "flush" | "none";
  /** Walk into directories that are on another device. */
  readonly crossDevice?: boolean;
  /** Append in place to a file that has several hard links. */
  readonly hardLinks?: boolean;
  /** Where small calls run; auto: in the thread pool on network file systems and FUSE, else synchronous. */
  readonly io?: "auto" | "sync" | "pool";
  /** Most bytes one read in this root returns. */
  readonly maxReadBytes?: number;
  /** What the files in it may take together. */
  readonly quota?: {
    /** Most bytes of all files, as long as they say they are. */
    readonly bytes?: number;
    /** Most files; directories and links do not count. */
    readonly files?: number;
  };
  /** on: every change is recorded in stateDir with what was there before, so that it can be undone; metadata: without content; off: not at all. */
  readonly journal?: "off" | "metadata" | "on";
  /** How much the journal keeps; the oldest of whoever keeps most goes first. */
  readonly journalQuota?: {
    /** Most bytes of replaced and deleted content. */
    readonly bytes?: number;
    /** Most entries. */
    readonly entries?: number;
    /** Days that entries and content are kept at most. */
    readonly days?: number;
  };
  /** Where journal is on: auto moves what is deleted to .venue-files/trash in the root, and deletes for good what cannot be kept; required refuses to delete that; off deletes for good. */
  readonly trash?: "auto" | "required" | "off";
  /** Globs of what no caller gets to, neither seen nor changed: without '/' a base name at any depth, else from the top of the root; a directory covers all below. */
  readonly deny?: readonly string[];
  /** Globs, as in deny, of what callers may read but not change. */
  readonly protect?: readonly string[];
  /** Changes that a person has to allow first: the call fails with APPROVAL_REQUIRED, and is repeated with the id once somebody who holds the ability approve has decided. */
  readonly approve?: {
    /** What has to be allowed. */
    readonly for: readonly ("delete" | "overwrite" | "edit" | "move" | "create" | "exec" | "all")[];
    /** Only what concerns more than so many entries or bytes: the larger of what goes and what comes. */
    readonly over?: {
      /** Most entries of one call that need no approval. */
      readonly entries?: number;
      /** Most bytes of one call that need no approval. */
      readonly bytes?: number;
    };
    /** How long a request waits for a decision, and how long an approval can be used. */
    readonly minutes?: number;
    /** The user of an MCP or ACP client that can ask may decide about the call that waits, and no other. */
    readonly elicit?: boolean;
  };
  /** How text in it is written: utf-8 (and UTF-16 where a byte order mark says so), utf-16le, latin1, windows-1252, shift_jis, … Taken at its word: nothing is guessed. */
  readonly encoding?: string;
  /** What file:grep searches with. */
  readonly grep?: "auto" | "re2js";
  /** DID of whoever may do everything in it and signs the UCANs for it; public access ends there. */
  readonly owner?: string;
}

/** A drive root (each caller has its own drive), as written in a config. */
export interface DriveRootInput {
  /** Name of a drive: each caller who says who it is gets its own. */
  readonly dlfs: string;
  /** Directory of the drive that is the top of the root; made by the first write. */
  readonly subpath?: string;
  /** Refuse write, append, mkdir and delete. */
  readonly readOnly?: boolean;
  /** Note about the root, returned by file:roots. */
  readonly description?: string;
  /** Most bytes one read in this root returns. */
  readonly maxReadBytes?: number;
  /** Globs of what no caller gets to, neither seen nor changed: without '/' a base name at any depth, else from the top of the root; a directory covers all below. */
  readonly deny?: readonly string[];
  /** Globs, as in deny, of what callers may read but not change. */
  readonly protect?: readonly string[];
  /** Changes that a person has to allow first: the call fails with APPROVAL_REQUIRED, and is repeated with the id once somebody who holds the ability approve has decided. */
  readonly approve?: {
    /** What has to be allowed. */
    readonly for: readonly ("delete" | "overwrite" | "edit" | "move" | "create" | "exec" | "all")[];
    /** Only what concerns more than so many entries or bytes: the larger of what goes and what comes. */
    readonly over?: {
      /** Most entries of one call that need no approval. */
      readonly entries?: number;
      /** Most bytes of one call that need no approval. */
      readonly bytes?: number;
    };
    /** How long a request waits for a decision, and how long an approval can be used. */
    readonly minutes?: number;
    /** The user of an MCP or ACP client that can ask may decide about the call that waits, and no other. */
    readonly elicit?: boolean;
  };
  /** How text in it is written: utf-8 (and UTF-16 where a byte order mark says so), utf-16le, latin1, windows-1252, shift_jis, … Taken at its word: nothing is guessed. */
  readonly encoding?: string;
  /** What file:grep searches with. */
  readonly grep?: "auto" | "re2js";
}

export type RootConfigInput = HostRootInput | TempRootInput | DriveRootInput;

/** Configuration of a venue, checked and complete, but for its roots. */
export interface VenueConfigChecked {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly listen?: {
    readonly socket: string;
  };
  readonly baseUrl?: string;
  readonly hosts: readonly string[];
  readonly trustProxy: boolean;
  readonly seed?: string;
  readonly seedFile?: string;
  readonly did?: string;
  readonly operator?: string;
  readonly stateDir?: string | false;
  readonly auth: {
    readonly public: {
      readonly enabled?: boolean;
      readonly caps?: readonly {
        readonly with: string;
        readonly can: string;
      }[];
    };
    readonly localToken?: boolean;
    readonly tokens: readonly {
      readonly name: string;
      readonly token: {
        readonly env?: string;
        readonly file?: string;
        readonly sha256?: string;
      };
      readonly did?: string;
      readonly caps: readonly {
        readonly with: string;
        readonly can: string;
      }[];
    }[];
    readonly grants: readonly {
      readonly did: string;
      readonly with: string;
      readonly can: string;
    }[];
    readonly ucan: {
      readonly maxLifetime: number;
      readonly allowNoExpiry: boolean;
      readonly acceptUnversionedCovia: boolean;
      readonly revocations?: string;
    };
    readonly issuers: readonly {
      readonly issuer: string;
      readonly audience?: readonly string[];
      readonly jwks?: string;
      readonly algorithms?: readonly ("ES256" | "EdDSA" | "Ed25519" | "RS256" | "PS256")[];
      readonly requiredClaims?: readonly string[];
      readonly map: readonly {
        readonly when: Readonly<Record<string, string>>;
        readonly caps: readonly {
          readonly with: string;
          readonly can: string;
        }[];
      }[];
    }[];
    readonly clockSkew: number;
    readonly maxIdentityLifetime: number;
    readonly acceptUnboundIdentity?: boolean;
  };
  readonly shared?: {
    readonly postgres: {
      readonly url: {
        readonly env?: string;
        readonly file?: string;
      };
      readonly schema: string;
    };
    readonly advertise?: string;
    readonly drainMs: number;
  };
  readonly corsOrigins: "*" | readonly string[];
  readonly maxRequestBytes: number;
  readonly maxInFlightBytes?: number;
  readonly maxContentSize: number;
  readonly rateLimit?: false | {
    readonly perSecond: number;
    readonly burst: number;
  };
  readonly webdav?: boolean | {
    readonly enabled: boolean;
    readonly anonymous: boolean;
    readonly lockSeconds: number;
    readonly maxLocks: number;
  };
  readonly storage: {
    readonly content: "memory" | "file" | "s3";
    readonly path?: string;
    readonly s3?: {
      readonly bucket: string;
      readonly prefix?: string;
      readonly endpoint?: string;
      readonly region?: string;
    };
  };
  readonly assets: {
    readonly maxTotalBytes: number;
    readonly write?: "public" | "operator";
  };
  readonly jobs: {
    readonly inlineWaitMs: number;
    readonly maxWaitMs: number;
    readonly max: number;
    readonly maxBytes: number;
    readonly ttlMs: number;
  };
  readonly mcp: false | {
    readonly defaultReadBytes: number;
    readonly defaultReadLines: number;
    readonly maxReadBytes: number;
    readonly tools: "default" | "full";
    readonly serverInfo?: {
      readonly name?: string;
      readonly title?: string;
      readonly version?: string;
    };
    readonly includeAdapters?: readonly string[];
    readonly includePathPrefixes: readonly string[];
  };
  readonly audit: {
    readonly file?: string;
    readonly maxBytes: number;
    readonly keep: number;
  };
  readonly log: {
    readonly level: "debug" | "info" | "warn" | "error" | "silent";
    readonly file?: string;
  };
  readonly metrics: "operator" | "public" | false;
  readonly workspace?: boolean | {
    readonly drafts: boolean;
  };
  readonly profiles: Readonly<Record<string, {
    readonly profile: "jettson" | "everruns";
    readonly root: string;
    readonly prefix?: string;
    readonly alias?: string | null;
    readonly variant?: "strict" | "0.50";
    readonly onStale?: "rebase" | "reject";
    readonly snapshot?: boolean;
    readonly shell?: {
      readonly driver: "auto" | "bwrap" | "just-bash" | "none";
      readonly network: boolean;
      readonly uid?: number;
      readonly gid?: number;
      readonly extraMounts: readonly {
        readonly path: string;
        readonly at?: string;
      }[];
      readonly scratchBytes: number;
      readonly limits: {
        readonly nproc: number;
        readonly fsize: number;
        readonly data: number;
        readonly nofile: number;
        readonly core: number;
      };
      readonly unsafe: boolean;
    };
  }>>;
  readonly drives: {
    readonly store?: "memory" | {
      readonly path?: string;
      readonly s3?: {
        readonly bucket: string;
        readonly prefix?: string;
        readonly endpoint?: string;
        readonly region?: string;
      };
    };
    readonly staleMs: number;
    readonly futureSkewMs: number;
    readonly verifyReads: boolean;
    readonly allowKeyExport: boolean;
    readonly journalQuota: {
      readonly bytes: number;
      readonly entries: number;
      readonly days: number;
    };
    readonly limits: {
      readonly maxPathDepth: number;
      readonly maxFileBytes: number;
      readonly maxDriveBytes: number;
      readonly maxEntries: number;
      readonly maxImportBytes: number;
      readonly maxImportCells: number;
      readonly maxImportLogicalBytes: number;
      readonly maxImportEntries: number;
    };
  };
}
