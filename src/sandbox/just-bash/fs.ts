// The file system of a JavaScript shell, in the worker thread.

import { posix } from "node:path";
import type { FsStat, IFileSystem } from "just-bash";
import type { FileAnswer, FileCall, FileFacts } from "./messages.js";

/** Sends a call to the main thread. */
export type Ask = (call: Omit<FileCall, "mount">) => Promise<FileAnswer>;

type Content = string | Uint8Array;
type Encoding = { readonly encoding?: BufferEncoding | null } | BufferEncoding | undefined;

/** A mounted directory; every access is an operation in the main thread. */
export class BridgeFs implements IFileSystem {
  readonly #at: string;
  readonly #ask: Ask;

  /** @param at mount point */
  constructor(at: string, ask: Ask) {
    this.#at = at;
    this.#ask = ask;
  }

  async readFile(path: string, options?: Encoding): Promise<string> {
    return Buffer.from(await this.readFileBuffer(path)).toString(encodingOf(options));
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    const answer = await this.#call("open", { name: "read", path });
    return "bytes" in answer ? answer.bytes : new Uint8Array();
  }

  async writeFile(path: string, content: Content, options?: Encoding): Promise<void> {
    await this.#call("open", { name: "write", path, bytes: bytesOf(content, options) });
  }

  async appendFile(path: string, content: Content, options?: Encoding): Promise<void> {
    await this.#call("open", { name: "append", path, bytes: bytesOf(content, options) });
  }

  async exists(path: string): Promise<boolean> {
    return !("errno" in (await this.#ask({ name: "stat", path: below(path) })));
  }

  async stat(path: string): Promise<FsStat> {
    return statOf(await this.#facts("stat", path), false);
  }

  async lstat(path: string): Promise<FsStat> {
    return statOf(await this.#facts("lstat", path), true);
  }

  async mkdir(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    const { recursive = false } = options;
    const answer = await this.#call("mkdir", { name: "mkdir", path, isRecursive: recursive });
    if ("created" in answer && !answer.created && !recursive)
      throw this.#fault("EEXIST", "file already exists", { syscall: "mkdir", path });
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map(({ name }) => name);
  }

  async readdirWithFileTypes(path: string) {
    const answer = await this.#call("scandir", { name: "list", path });
    const names = "names" in answer ? answer.names : [];
    return names.map(({ name, type }) => ({
      ...{ name, isFile: type === "file", isDirectory: type === "directory", isSymbolicLink: type === "symlink" },
    }));
  }

  async rm(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): Promise<void> {
    const { recursive = false, force = false } = options;
    const answer = await this.#ask({ name: "remove", path: below(path), isRecursive: recursive });
    if ("errno" in answer && !(force && answer.errno === "ENOENT"))
      throw this.#fault(answer.errno, answer.text, { syscall: "rm", path });
  }

  async cp(from: string, to: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    await this.#call("cp", { name: "copy", path: from, to: below(to), isRecursive: options.recursive ?? false });
  }

  async mv(from: string, to: string): Promise<void> {
    await this.#call("rename", { name: "move", path: from, to: below(to) });
  }

  resolvePath(base: string, path: string): string {
    return posix.resolve("/", base, path);
  }

  getAllPaths(): string[] {
    return [];
  }

  /** Permission bits cannot be changed; only the existence of the file is checked. */
  async chmod(path: string): Promise<void> {
    await this.#facts("chmod", path);
  }

  async utimes(path: string): Promise<void> {
    await this.#facts("utimes", path);
  }

  async symlink(_target: string, path: string): Promise<void> {
    throw this.#fault("EPERM", "operation not permitted", { syscall: "symlink", path });
  }

  async link(_from: string, path: string): Promise<void> {
    throw this.#fault("EPERM", "operation not permitted", { syscall: "link", path });
  }

  async readlink(path: string): Promise<string> {
    throw this.#fault("EINVAL", "invalid argument", { syscall: "readlink", path });
  }

  async realpath(path: string): Promise<string> {
    await this.#facts("realpath", path);
    return posix.resolve("/", path);
  }

  /** Worded as the shell's commands expect. */
  #fault(errno: string, text: string, { syscall, path }: { syscall: string; path: string }): Error {
    const message = `${errno}: ${text}, ${syscall} '${posix.join(this.#at, path)}'`;
    return Object.assign(new Error(message), { code: errno, syscall, path });
  }

  async #facts(syscall: string, path: string): Promise<FileFacts> {
    const answer = await this.#call(syscall, { name: "stat", path });
    if (!("facts" in answer)) throw this.#fault("EIO", "input/output error", { syscall, path });
    return answer.facts;
  }

  async #call(syscall: string, call: Omit<FileCall, "mount">): Promise<FileAnswer> {
    const answer = await this.#ask({ ...call, path: below(call.path) });
    if ("errno" in answer) throw this.#fault(answer.errno, answer.text, { syscall, path: call.path });
    return answer;
  }
}

/** Paths of a mounted file system start at its top. */
const below = (path: string): string => posix.resolve("/", path).slice(1);

const encodingOf = (options: Encoding): BufferEncoding =>
  (typeof options === "string" ? options : options?.encoding) ?? "utf8";

const bytesOf = (content: Content, options: Encoding): Uint8Array =>
  typeof content === "string" ? Buffer.from(content, encodingOf(options)) : content;

function statOf({ type, isLink, size, isReadOnly, modified }: FileFacts, isOfLink: boolean): FsStat {
  const isSymbolicLink = isOfLink && isLink;
  const isDirectory = !isSymbolicLink && type === "directory";
  return {
    ...{ isFile: !isSymbolicLink && type === "file", isDirectory, isSymbolicLink },
    mode: (isDirectory ? 0o755 : 0o644) & (isReadOnly ? 0o555 : 0o777),
    ...{ size, mtime: new Date(modified) },
  };
}
