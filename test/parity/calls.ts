/** One call of an operation. */
export interface ParityCall {
  readonly operation: string;
  readonly input: unknown;
  /** Also made from the command line, where every call is a process. */
  readonly cli?: true;
}

const call = (operation: string, input: unknown): ParityCall => ({ operation: `file:${operation}`, input });
/** One for the command line too; these together make sense without the others. */
const both = (operation: string, input: unknown): ParityCall => ({ ...call(operation, input), cli: true });

const w = (path: string, more: object = {}) => ({ root: "work", path, ...more });

/** What every surface must answer alike, in this order: each may build on what those before have left behind. */
export const CALLS: readonly ParityCall[] = [
  both("roots", {}),
  call("roots", { root: "work" }),
  // Reading.
  both("list", { root: "work" }),
  call("list", w("sub", { offset: 1, limit: 1 })),
  call("list", w("", { offset: -5, limit: 99_999 })),
  call("list", w("text.txt")),
  call("list", w("nope")),
  call("list", w("", { limit: 1.5 })),
  call("tree", { root: "work", info: "size" }),
  call("tree", w("sub", { maxDepth: 1 })),
  call("tree", { root: "work", maxEntries: 2 }),
  call("tree", { root: "work", info: "sizes" }),
  call("tree", w("text.txt")),
  call("stat", w("text.txt")),
  call("stat", w("/./sub//../text.txt")),
  call("stat", w("")),
  call("stat", w("nope/deeper")),
  call("stat", w("link.txt")),
  call("stat", { root: "kept", path: "a.txt" }),
  both("read", w("text.txt")),
  call("read", w("text.txt", { mode: "text" })),
  both("read", w("text.txt", { mode: "bytes" })),
  call("read", w("text.txt", { offset: 1, length: 3 })),
  call("read", w("text.txt", { offset: 1000 })),
  call("read", w("text.txt", { offset: 3 })),
  call("read", w("link.txt")),
  call("read", w("empty")),
  both("read", w("data.json", { mode: "json" })),
  call("read", w("binary.dat")),
  call("read", w("binary.dat", { offset: 1, length: 2 })),
  call("read", w("pixel.png")),
  call("read", w("long.txt")),
  // Reading what cannot be read.
  both("read", w("nope")),
  call("read", w("sub")),
  call("read", w("pipe")),
  call("read", w("binary.dat", { mode: "text" })),
  call("read", w("text.txt", { mode: "json" })),
  call("read", w("text.txt", { mode: "xml" })),
  call("read", w("text.txt", { mode: "json", offset: 1 })),
  call("read", w("text.txt", { offset: -1 })),
  both("read", w("too-large.bin")),
  both("read", w("out/passwd")),
  call("stat", w("out")),
  call("read", w("dangling")),
  // Input and paths.
  call("stat", { path: "text.txt" }),
  call("stat", { root: "work" }),
  call("stat", { root: 1, path: "text.txt" }),
  both("stat", w("text.txt", { pat: "x" })),
  both("stat", { root: "nope", path: "a" }),
  both("stat", w("../a")),
  call("stat", w("sub/../../a")),
  call("stat", w("a\\b")),
  call("stat", w("a\u0000b")),
  call("stat", w("a\u0007b")),
  call("stat", w("\ud800")),
  call("stat", w("C:/a")),
  call("stat", w("//host/share")),
  call("stat", w("x".repeat(256))),
  call("stat", w("a/".repeat(513))),
  call("stat", w(".venue-files/x")),
  // Changing.
  both("write", w("new.txt", { content: "new\n" })),
  both("write", w("new.txt", { value: { b: [1, null], a: "ä" } })),
  call("write", w("new.bin", { bytes: "AAEC/w" })),
  call("write", w("null.json", { value: null })),
  call("edit", w("text.txt", { oldText: "e", newText: "E", expect: 1, dryRun: true })),
  call("edit", w("data.json", { edits: [{ oldText: "{", newText: "{ " }], ifMatch: "aaaaaaaa" })),
  call("edit", w("new.txt", { oldText: "none of this", newText: "" })),
  call("edit", w("binary.dat", { oldText: "a", newText: "" })),
  both("write", w("a/b/c.txt", { content: "" })),
  call("write", w("a/b/c.txt", { content: "", parents: true })),
  call("write", w("link.txt", { content: "through the link" })),
  both("append", w("new.txt", { content: "more" })),
  call("append", w("appended.txt", { bytes: "eA==" })),
  both("mkdir", w("made")),
  call("mkdir", w("made")),
  call("mkdir", w("deep/er")),
  call("mkdir", w("deep/er", { parents: true })),
  call("delete", w("made")),
  call("delete", w("nope")),
  call("delete", w("link.txt")),
  call("delete", w("a", { recursive: true })),
  // Changing what cannot be changed.
  call("write", w("x")),
  call("write", w("x", { content: "a", value: 1 })),
  call("write", w("x", { bytes: "no base64!" })),
  call("write", w("x", { content: "\udc00" })),
  call("write", w("x", { content: 5 })),
  both("write", w("x", { asset: "a/0123" })),
  call("write", w("sub", { content: "" })),
  call("write", w("text.txt/x", { content: "" })),
  call("write", w("pipe", { content: "" })),
  both("write", w("large.txt", { content: "x".repeat(100_001) })),
  both("write", { root: "kept", path: "a.txt", content: "" }),
  call("append", w("hard.txt", { content: "x" })),
  call("mkdir", w("text.txt")),
  both("delete", w("sub")),
  both("delete", w("")),
  call("delete", w("sub", { recursive: "yes" })),
  call("delete", { root: "kept", path: "a.txt" }),
  // What it has come to.
  both("tree", { root: "work", info: "size" }),
];

/** Capabilities that the calls below are narrowed by. */
export const CAPS = [
  { with: "file://work/sub/", can: "crud/read" },
  { with: "file://work/in/", can: "crud/write" },
];

/** Calls by someone who holds {@link CAPS} only. */
export const NARROWED_CALLS: readonly ParityCall[] = [
  both("roots", {}),
  both("read", w("sub/one.txt")),
  both("read", w("text.txt")),
  call("list", { root: "work" }),
  call("stat", w("nope")),
  call("stat", { root: "nope", path: "a" }),
  call("stat", { root: "kept", path: "a.txt" }),
  call("read", w("sub/../text.txt")),
  call("read", w("sub/up.txt")),
  call("write", w("sub/one.txt", { content: "" })),
  call("write", w("in/n.txt", { content: "n" })),
  call("write", w("in2/n.txt", { content: "n", parents: true })),
  call("delete", w("in/n.txt")),
];

/** Every code that the calls together must bring about. */
export const CODES = [
  "OK",
  "INVALID_INPUT",
  "UNKNOWN_ROOT",
  "CAPABILITY_DENIED",
  "INVALID_PATH",
  "PATH_NOT_RELATIVE",
  "PATH_ESCAPES_ROOT",
  "SYMLINK_ESCAPE",
  "DANGLING_SYMLINK",
  "READ_ONLY_ROOT",
  "NOT_FOUND",
  "NOT_A_DIRECTORY",
  "IS_A_DIRECTORY",
  "NOT_A_FILE",
  "PARENT_MISSING",
  "EXISTS_NOT_DIRECTORY",
  "NOT_EMPTY",
  "ROOT_DELETE",
  "HARD_LINKED",
  "CONFLICT",
  "NO_MATCH",
  "NOT_TEXT",
  "NOT_JSON",
  "TOO_LARGE",
  "ASSET_NOT_FOUND",
] as const;
