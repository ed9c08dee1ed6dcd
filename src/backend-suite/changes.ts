// Every kind of change a backend can make, for table-driven cases.

import type { Content, Files } from "./files.js";

/** One kind of change, applied to a root filled by {@link makeGround}. */
export interface Change {
  readonly title: string;
  readonly target: string;
  readonly run: (files: Files) => Promise<unknown>;
}

/** A change that writes content. */
export interface ContentChange extends Change {
  readonly put: (files: Files, content: Content) => Promise<unknown>;
}

export async function makeGround(files: Files): Promise<void> {
  await files.write("old", "old content");
  await files.mkdir("empty");
  await files.write("full/inner", "inner", { parents: true });
}

export const CONTENT_CHANGES: readonly ContentChange[] = (["write", "append"] as const).flatMap((method) => [
  contentChange(`${method} of a new file`, "full/new", (files, content) => files[method]("full/new", content)),
  contentChange(`${method} of an existing file`, "old", (files, content) => files[method]("old", content)),
  contentChange(`${method} with parents`, "a/b/new", (files, content) =>
    files[method]("a/b/new", content, { parents: true }),
  ),
]);

const ENTRY_CHANGES: readonly Change[] = [
  { title: "mkdir", target: "full/new", run: (files) => files.mkdir("full/new") },
  { title: "mkdir with parents", target: "a/b/new", run: (files) => files.mkdir("a/b/new", { parents: true }) },
  { title: "remove of a file", target: "old", run: (files) => files.remove("old") },
  { title: "remove of an empty directory", target: "empty", run: (files) => files.remove("empty") },
  { title: "recursive remove", target: "full", run: (files) => files.remove("full", { recursive: true }) },
];

export const CHANGES: readonly Change[] = [...CONTENT_CHANGES, ...ENTRY_CHANGES];

/** Changes that create `a` and `a/b` as parents. */
export const PARENT_MAKING_CHANGES: readonly Change[] = CHANGES.filter(({ target }) => target === "a/b/new");

function contentChange(title: string, target: string, put: ContentChange["put"]): ContentChange {
  return { title, target, put, run: (files) => put(files, `new content of ${target}`) };
}
