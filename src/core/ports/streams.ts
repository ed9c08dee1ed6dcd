// Streams that a call carries besides its input and output: files in and out, and running commands.

import type { Sha256 } from "../etag.js";
import type { ExecMount, ExecRequest, SandboxFiles, SandboxProcess } from "./sandbox.js";

/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** An open file, ready to be streamed. */
export interface Download {
  /** The last segment of its path. */
  readonly name: string;
  /** Size in bytes when it was opened. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Media type, guessed from the name. */
  readonly mime?: string;
  /** Hash of the whole content, if it is small or cached. */
  readonly sha256?: Sha256;
  /** Tag of its version stamp. Absent: it has none yet. */
  readonly tag?: string;
  /** Reads all of it, for its hash. */
  hash(): Promise<Sha256>;
  /**
   * Streams the bytes, reading each chunk on demand. Each chunk has the full operation timeout; the time a consumer
   * takes between chunks is not limited here. @throws IO_ERROR if the file has become shorter; ABORTED, TIMEOUT
   */
  read(span: ByteSpan): AsyncIterable<Buffer>;
}

/** Consumes a file, which stays open until it resolves. @returns number of bytes consumed @throws FileAdapterError */
export type TakeDownload = (file: Download) => Promise<number>;

/** Body of an upload. */
export interface UploadBody {
  /** Length in bytes, if announced. */
  readonly length?: number;
  /** Iterated at most once. @throws ABORTED if the sender disconnects */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Where its chunks lie one after the other, while it is added; of one of the parts of a large body. */
  readonly room?: BodyRoom;
}

/** A buffer that is used for one body after the other. */
export interface BodyRoom {
  readonly buffer: Buffer;
}

/** A stream besides the input and output of a call, never held in memory as a whole. */
export type Transfer =
  | { readonly take: TakeDownload }
  | { readonly body: UploadBody }
  | { readonly command: CommandTransfer };

/** A command to run, and the callback that receives its process. */
export interface CommandTransfer {
  readonly request: ExecRequest;
  /** Called once, when the command runs. */
  readonly started: (process: SandboxProcess) => void;
  readonly filesOf: (mount: ExecMount, terms: CommandTerms) => SandboxFiles;
}

/** Terms of all operations that a command calls. */
export interface CommandTerms {
  /** A person has allowed the command, and with it its changes there. */
  readonly isAllowed: boolean;
  /** Id of the group of its changes. */
  readonly group: string | undefined;
}
