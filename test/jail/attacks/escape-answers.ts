import type { AttemptName } from "./attempts.js";

/** `ok`, or the code of the error, for every way to use a path. */
export type Answers = Readonly<Record<AttemptName, string>>;

const every = (code: string): Answers => ({
  list: code,
  tree: code,
  grep: code,
  read: code,
  stat: code,
  write: code,
  "write, parents": code,
  append: code,
  "append, parents": code,
  mkdir: code,
  "mkdir, parents": code,
  delete: code,
  "delete, recursive": code,
});

/** Whatever is done to the path, it is refused in the same way. */
export const refused = every;

/** The path is itself a link that leads nowhere good: whoever deletes it removes the link, everybody else is refused. */
export const refusedButDeleted = (code: string): Answers => ({
  ...every(code),
  delete: "ok",
  "delete, recursive": "ok",
});

/** Nothing has the name, in a directory that exists. */
export const nothingThere: Answers = {
  ...every("ok"),
  list: "NOT_FOUND",
  tree: "NOT_FOUND",
  grep: "NOT_FOUND",
  read: "NOT_FOUND",
};

/** Nothing has the name, nor has anything the name of its parent. */
export const noParent: Answers = {
  ...nothingThere,
  write: "PARENT_MISSING",
  append: "PARENT_MISSING",
  mkdir: "PARENT_MISSING",
};

/** A file stands where one of the path's directories should be. */
export const belowFile: Answers = {
  ...every("NOT_A_DIRECTORY"),
  list: "NOT_FOUND",
  tree: "NOT_FOUND",
  grep: "NOT_FOUND",
  read: "NOT_FOUND",
  stat: "ok",
  delete: "ok",
  "delete, recursive": "ok",
};

export const aFile: Answers = {
  ...every("ok"),
  list: "NOT_A_DIRECTORY",
  tree: "NOT_A_DIRECTORY",
  mkdir: "EXISTS_NOT_DIRECTORY",
  "mkdir, parents": "EXISTS_NOT_DIRECTORY",
};

export const aFullDirectory: Answers = {
  ...every("IS_A_DIRECTORY"),
  list: "ok",
  tree: "ok",
  grep: "ok",
  stat: "ok",
  mkdir: "ok",
  "mkdir, parents": "ok",
  delete: "NOT_EMPTY",
  "delete, recursive": "ok",
};

export const theRoot: Answers = { ...aFullDirectory, delete: "ROOT_DELETE", "delete, recursive": "ROOT_DELETE" };

/** A link to a directory: the link is what gets deleted. */
export const linkToDirectory: Answers = { ...aFullDirectory, delete: "ok" };
