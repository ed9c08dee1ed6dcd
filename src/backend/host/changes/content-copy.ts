// Copies the content of files: by sharing blocks, in the kernel, or by reading and writing.

import { createHash } from "node:crypto";
import { ioError } from "../../../core/errors/texts.js";
import { type Io, wait } from "../../../core/io.js";
import type { CopyOptions } from "../../../core/ports/backend.js";
import type { OpenFile } from "../../../core/ports/open-file.js";
import { READ_NEW, withOpen } from "../../../jail/handles.js";
import { errnoOf } from "../../../jail/sys.js";
import { hashOpen } from "../open.js";
import type { Change } from "../target.js";
import { Room } from "./content.js";

const PIECE_BYTES = 1_048_576;
/** Size in bytes below which a file is hashed while it is copied, since that costs almost nothing. */
const HASHED_BYTES = 1_048_576;
/** Size in bytes from which sharing blocks (reflink) is worth an attempt. */
const CLONED_BYTES = 65_536;
/** Bytes that the kernel copies per call: some milliseconds, after which a cancellation is seen. */
const KERNEL_BYTES = 16_777_216;

/** Copies the files of one copy. A method that their file systems do not support is tried once. */
export class ContentCopy {
  files = 0;
  bytes = 0;
  readonly #change: Change;
  readonly #options: CopyOptions;
  readonly #room: Room;
  #sharesBlocks = true;
  #copiesInKernel = true;

  constructor(change: Change, options: CopyOptions) {
    this.#change = change;
    this.#options = options;
    this.#room = new Room(change);
  }

  /**
   * @param to `fd`: the empty file at `path`, open for writing; `later`: bytes that the copy needs after it, see {@link Room}
   * @returns the hash if it is requested or cheap
   */
  *copy(
    file: OpenFile,
    { fd, path, later }: { readonly fd: number; readonly path: string | Buffer; readonly later: number },
  ): Io<string | undefined> {
    const { access } = this.#change;
    const { verify, hash: isAsked } = this.#options;
    this.files++;
    const isWanted = verify === true || isAsked === true;
    const hash = isWanted || file.size <= HASHED_BYTES ? createHash("sha256") : undefined;
    let at = hash === undefined ? yield* this.#copyInKernel(fd, file) : 0;
    if (at === 0 && !isWanted && file.size > CLONED_BYTES && (yield* this.#clone(fd, file))) return undefined;
    while (at < file.size) {
      const bytes = yield* wait(file.read(at, Math.min(PIECE_BYTES, file.size - at)));
      if (bytes.length === 0) break;
      hash?.update(bytes);
      yield* this.#room.write(fd, bytes, Math.max(0, file.size - at - bytes.length) + later);
      at += bytes.length;
      this.bytes += bytes.length;
      yield* access.scope.breathe();
    }
    const sha256 = hash?.digest("hex");
    if (verify === true && (yield* this.#hashOf(path)) !== sha256) throw ioError(access.place, "EIO");
    return sha256;
  }

  /** Empties the new file first, as `copyFile` does, after which ext4 writes it to the disk when it is closed. */
  *#clone(fd: number, file: OpenFile): Io<boolean> {
    const { jail, access } = this.#change;
    if (!this.#sharesBlocks || file.descriptor === undefined || jail.engine === "real-path check") return false;
    try {
      yield* jail.sys.clone(file.descriptor, fd);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      // Sharing blocks would fail for later files as well.
      this.#sharesBlocks = false;
      yield* jail.sys.ftruncate(fd, 0);
      return false;
    }
    access.scope.checkpoint();
    this.bytes += (yield* jail.sys.fstat(fd)).size;
    return true;
  }

  /**
   * The kernel shares blocks where it can, so this comes before {@link #clone}.
   * @returns how many bytes from the beginning are copied; the rest, if any, must be read and written
   */
  *#copyInKernel(fd: number, file: OpenFile): Io<number> {
    const { jail, access } = this.#change;
    const { descriptor } = file;
    const calls = this.#copiesInKernel && descriptor !== undefined ? jail.sys.native?.load() : undefined;
    if (calls === undefined || descriptor === undefined) return 0;
    let at = 0;
    while (at < file.size) {
      access.scope.checkpoint();
      const count = (yield calls.copy({ fd: descriptor, at }, fd, Math.min(KERNEL_BYTES, file.size - at))) as number;
      // A file system that cannot do this will not do it for later files; a file that has become shorter just ends.
      if (count < 0) this.#copiesInKernel = false;
      if (count <= 0) break;
      at += count;
      this.bytes += count;
    }
    return at;
  }

  #hashOf(path: string | Buffer): Io<string> {
    const { sys } = this.#change.jail;
    return withOpen(sys.open(path, READ_NEW), (fd) => hashOpen(sys, fd));
  }
}
