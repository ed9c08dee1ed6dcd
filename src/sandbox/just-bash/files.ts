// Serves the file system calls of a JavaScript shell by operations.

import { FileAdapterError } from "../../core/errors/errors.js";
import type { SandboxFiles } from "../../core/ports/sandbox.js";
import type { FileAnswer, FileCall, FileFacts, FileName } from "./messages.js";

/** Maximum bytes per read, and maximum size of a file that is read at all. */
const PIECE_BYTES = 4_194_304;
const MAX_BYTES = 67_108_864;
const PAGE = 10_000;

/** errno and message for the error codes of operations. */
const ERRNOS: Readonly<Record<string, readonly [string, string]>> = {
  NOT_FOUND: ["ENOENT", "no such file or directory"],
  PARENT_MISSING: ["ENOENT", "no such file or directory"],
  DANGLING_SYMLINK: ["ENOENT", "no such file or directory"],
  IS_A_DIRECTORY: ["EISDIR", "illegal operation on a directory"],
  NOT_A_DIRECTORY: ["ENOTDIR", "not a directory"],
  EXISTS_NOT_DIRECTORY: ["EEXIST", "file already exists"],
  ALREADY_EXISTS: ["EEXIST", "file already exists"],
  NOT_EMPTY: ["ENOTEMPTY", "directory not empty"],
  READ_ONLY_ROOT: ["EROFS", "read-only file system"],
  QUOTA_EXCEEDED: ["EDQUOT", "disk quota exceeded"],
  NO_SPACE: ["ENOSPC", "no space left on device"],
  TOO_LARGE: ["EFBIG", "file too large"],
  INVALID_PATH: ["EINVAL", "invalid argument"],
  INVALID_INPUT: ["EINVAL", "invalid argument"],
  BUSY: ["EBUSY", "resource busy or locked"],
  IO_ERROR: ["EIO", "input/output error"],
  INTERNAL: ["EIO", "input/output error"],
  TIMEOUT: ["ETIMEDOUT", "operation timed out"],
  ABORTED: ["ECANCELED", "operation cancelled"],
};
const REFUSED = ["EACCES", "permission denied"] as const;

/** Answers a call by operations of the caller who runs the command. Never rejects. */
export async function answerCall(files: SandboxFiles, call: FileCall): Promise<FileAnswer> {
  try {
    return await CALLS[call.name](files, call);
  } catch (error) {
    const code = error instanceof FileAdapterError ? error.code : "INTERNAL";
    const [errno, text] = ERRNOS[code] ?? REFUSED;
    return { errno, text };
  }
}

type Call = (files: SandboxFiles, call: FileCall) => Promise<FileAnswer>;

const CALLS: Readonly<Record<FileCall["name"], Call>> = {
  async read(files, { path }) {
    const parts: Buffer[] = [];
    for (let offset = 0; ; ) {
      const input = { path, mode: "bytes", offset, length: PIECE_BYTES };
      const { content, eof } = parseRead(await files.invoke("read", input));
      const bytes = Buffer.from(content, "base64");
      parts.push(bytes);
      offset += bytes.length;
      if (eof || bytes.length === 0) return { bytes: Buffer.concat(parts) };
      if (offset > MAX_BYTES) return tooLarge();
    }
  },
  async write(files, { path, bytes = new Uint8Array() }) {
    await files.invoke("write", { path, bytes: Buffer.from(bytes).toString("base64") });
    return { created: true };
  },
  async append(files, { path, bytes = new Uint8Array() }) {
    await files.invoke("append", { path, bytes: Buffer.from(bytes).toString("base64") });
    return { created: true };
  },
  async stat(files, { path }) {
    const facts = parseFacts(await files.invoke("stat", { path }));
    return facts === undefined ? missing() : { facts };
  },
  async list(files, { path }) {
    const names: FileName[] = [];
    for (;;) {
      const { entries, total } = parseList(await files.invoke("list", { path, offset: names.length, limit: PAGE }));
      names.push(...entries);
      if (entries.length === 0 || names.length >= total) return { names };
    }
  },
  async mkdir(files, { path, isRecursive = false }) {
    const { created } = (await files.invoke("mkdir", { path, parents: isRecursive })) as { created: boolean };
    return { created };
  },
  async remove(files, { path, isRecursive = false }) {
    const { existed } = (await files.invoke("delete", { path, recursive: isRecursive })) as { existed: boolean };
    return existed ? { created: false } : missing();
  },
  async copy(files, { path, to = "", isRecursive = false }) {
    await files.invoke("copy", { path, to, overwrite: true, recursive: isRecursive });
    return { created: true };
  },
  async move(files, { path, to = "" }) {
    await files.invoke("move", { path, to, overwrite: true });
    return { created: true };
  },
};

const missing = (): FileAnswer => ({ errno: "ENOENT", text: "no such file or directory" });
const tooLarge = (): FileAnswer => ({ errno: "EFBIG", text: "file too large" });

/** Outputs of our own operations conform to their schemas. */
const parseRead = (output: unknown) => output as { readonly content: string; readonly eof?: boolean };
const parseList = (output: unknown) => output as { readonly entries: readonly FileName[]; readonly total: number };

function parseFacts(output: unknown): FileFacts | undefined {
  const { exists, type, size, modified, readOnly, symlink } = output as Record<string, unknown>;
  if (exists !== true) return undefined;
  return {
    type: type === "file" || type === "directory" ? type : "other",
    isLink: symlink === true,
    size: Number(size ?? 0),
    isReadOnly: readOnly === true,
    modified: typeof modified === "number" ? modified : Date.parse(String(modified ?? 0)),
  };
}
