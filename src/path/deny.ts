import picomatch from "picomatch";
import type { DenyPolicy } from "../core/deny-policy.js";

/** Short for what usually holds keys and passwords; those with a directory are meant at any depth. */
const SECRETS: readonly string[] = [
  ...[".env", ".env.*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", ".netrc", ".npmrc", ".git-credentials"],
  ...["**/.aws/**", "**/.ssh/**"],
];

export interface DenyOptions {
  /** Names that differ only in case, or in how their characters are composed, are one name. */
  readonly foldsCase: boolean;
}

/**
 * Compiles deny patterns: globs in which `*` and `?` match dots too; one without `/` is a base name at any depth, others
 * start at the root; what covers a directory covers all below. `@secrets` stands for a list.
 *
 * @throws Error whose message completes "must be a glob: …"
 */
export function compileDeny(patterns: readonly string[], { foldsCase }: DenyOptions): DenyPolicy {
  const fold = foldsCase ? foldName : (name: string) => name;
  const names: RegExp[] = [];
  const paths: RegExp[] = [];
  for (const pattern of patterns.flatMap((one) => (one === "@secrets" ? SECRETS : [one]))) {
    // As in ignore files, a slash at the end only says that a directory is meant.
    const plain = pattern.replace(/\/+$/, "");
    const rooted = plain.replace(/^(?:\.?\/)+/, "");
    (plain.includes("/") ? paths : names).push(expressionOf(fold(rooted), pattern));
  }
  const isName = anyOf(names);
  const isPath = anyOf(paths);
  const deniesEntry = (directory: readonly string[], name: string): boolean =>
    isName?.test(fold(name)) === true || isPath?.test(fold([...directory, name].join("/"))) === true;
  return {
    deniesEntry,
    denies: (segments) => segments.some((name, index) => deniesEntry(segments.slice(0, index), name)),
  };
}

function expressionOf(glob: string, pattern: string): RegExp {
  if (pattern.startsWith("!")) throw new Error("it cannot begin with '!'");
  if (glob === "" || pattern.startsWith("@secrets")) throw new Error("nothing can have that name");
  if (glob.split("/").some((part) => part === "" || part === "." || part === "..")) {
    throw new Error("it cannot hold '//', '.' or '..' as a part");
  }
  const options = { dot: true, posix: true, nonegate: true, windows: false, strictBrackets: true, debug: true };
  try {
    // Any character can stand in a name, line separators too.
    return picomatch.makeRe(glob, { ...options, flags: "s" });
  } catch {
    throw new Error("a bracket, brace or range in it does not fit");
  }
}

const anyOf = (expressions: readonly RegExp[]): RegExp | undefined =>
  expressions.length === 0 ? undefined : new RegExp(expressions.map(({ source }) => `(?:${source})`).join("|"), "s");

/** Folds at least as much as any file system: what it keeps apart, they do. */
const foldName = (name: string): string => name.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
