// Port of transfers: whole files streamed in and out as operations, and tickets for single transfers.

import type { Sha256 } from "../etag.js";
import type { SurfaceContext } from "./adapter.js";
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
  /** Media type, guessed from the name. */
  readonly mime?: string;
  /** Hash of the whole content, if it is small or cached. */
  readonly sha256?: Sha256;
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
  readonly filesOf: (mount: ExecMount) => SandboxFiles;
}

/** Input of a download. */
export interface DownloadInput {
  readonly root: string;
  readonly path: string;
}

export interface UploadInput extends DownloadInput {
  readonly parents?: boolean;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

export interface Uploaded {
  readonly written: number;
  readonly created: boolean;
  readonly sha256?: Sha256;
}

/** Downloads and uploads as operations: same authorisation and audit as others, separate concurrency limit. */
export interface FileTransfers {
  /** @throws FileAdapterError */
  download(input: DownloadInput, take: TakeDownload, context: SurfaceContext): Promise<void>;
  /** @throws FileAdapterError; nothing has changed then */
  upload(input: UploadInput, body: UploadBody, context: SurfaceContext): Promise<Uploaded>;
}

export type Direction = "download" | "upload";

/** A ticket for one transfer of one file. `path` is canonical. */
export interface TicketRequest {
  readonly direction: Direction;
  readonly root: string;
  readonly path: string;
  readonly ttlSeconds: number;
}

/** A URL that authorises one transfer without credentials. */
export interface Ticket {
  readonly href: string;
  readonly method: "GET" | "PUT";
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** Issues tickets. The caller's authority is checked again when a ticket is used. */
export interface TicketOffice {
  /** `undefined`: no HTTP listener accepts tickets. */
  issue(request: TicketRequest, context: SurfaceContext): Ticket | undefined;
}
