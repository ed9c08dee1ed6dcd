import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { Files, Output } from "../files.js";

/** Content that an attempt puts in place. */
export const MARK = "left by an attempt";

/** One way to use a path, through an adapter and, as the control, through plain `node:fs`. */
export interface Attempt {
  readonly changes: boolean;
  run(files: Files, path: string): Promise<Output>;
  /** The same on a host path, as someone would write it who does not think of links. Answers what it has seen. */
  plain(path: string): unknown;
}

const parentOf = (path: string): string => path.replace(/\/+[^/]*\/*$/, "");

/** Every operation that takes a path, in every form that walks differently. */
export const ATTEMPTS = {
  list: {
    changes: false,
    run: (files, path) => files.invoke("list", { path }),
    plain: (path) => readdirSync(path),
  },
  tree: {
    changes: false,
    run: (files, path) => files.invoke("tree", { path, info: "size", maxDepth: 10 }),
    plain: (path) => readdirSync(path, { recursive: true }),
  },
  grep: {
    changes: false,
    run: (files, path) => files.invoke("grep", { path, pattern: "the", context: 1 }),
    plain: (path) => (statSync(path).isDirectory() ? readdirSync(path) : readFileSync(path, "utf8")),
  },
  read: {
    changes: false,
    run: (files, path) => files.invoke("read", { path }),
    plain: (path) => readFileSync(path, "utf8"),
  },
  stat: {
    changes: false,
    run: (files, path) => files.invoke("stat", { path }),
    plain: (path) => statSync(path),
  },
  write: {
    changes: true,
    run: (files, path) => files.invoke("write", { path, content: MARK }),
    plain: (path) => writeFileSync(path, MARK),
  },
  "write, parents": {
    changes: true,
    run: (files, path) => files.invoke("write", { path, content: MARK, parents: true }),
    plain: (path) => {
      mkdirSync(parentOf(path), { recursive: true });
      writeFileSync(path, MARK);
    },
  },
  append: {
    changes: true,
    run: (files, path) => files.invoke("append", { path, content: MARK }),
    plain: (path) => appendFileSync(path, MARK),
  },
  "append, parents": {
    changes: true,
    run: (files, path) => files.invoke("append", { path, content: MARK, parents: true }),
    plain: (path) => {
      mkdirSync(parentOf(path), { recursive: true });
      appendFileSync(path, MARK);
    },
  },
  mkdir: {
    changes: true,
    run: (files, path) => files.invoke("mkdir", { path }),
    plain: (path) => mkdirSync(path),
  },
  "mkdir, parents": {
    changes: true,
    run: (files, path) => files.invoke("mkdir", { path, parents: true }),
    plain: (path) => mkdirSync(path, { recursive: true }),
  },
  delete: {
    changes: true,
    run: (files, path) => files.invoke("delete", { path }),
    plain: (path) => (statSync(path).isDirectory() ? rmdirSync(path) : unlinkSync(path)),
  },
  "delete, recursive": {
    changes: true,
    run: (files, path) => files.invoke("delete", { path, recursive: true }),
    plain: (path) => rmSync(path, { recursive: true }),
  },
} as const satisfies Record<string, Attempt>;

export type AttemptName = keyof typeof ATTEMPTS;
export const ATTEMPT_NAMES = Object.keys(ATTEMPTS) as AttemptName[];
