import type { Sha256 } from "../etag.js";
import type { SurfaceContext } from "./adapter.js";
import type { ExecMount, ExecRequest, SandboxFiles, SandboxProcess } from "./sandbox.js";

/** Bytes from `start` to before `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** A file held open, about to be sent. */
export interface Download {
  /** The last segment of its path. */
  readonly name: string;
  /** Bytes, when it was opened. */
  readonly size: number;
  /** By its name. */
  readonly mime?: string;
  /** Of the whole content, where it is small or was seen before. */
  readonly sha256?: Sha256;
  /**
   * Its bytes, each chunk read when it is asked for. Each has as long as a whole operation; how long a reader may take
   * is for the reader to say. @throws IO_ERROR when the file has become shorter; ABORTED, TIMEOUT
   */
  read(span: ByteSpan): AsyncIterable<Buffer>;
}

/** Takes what it wants of a file, which stays open until then. @returns bytes that were taken; @throws FileAdapterError */
export type TakeDownload = (file: Download) => Promise<number>;

/** A body on its way in. */
export interface UploadBody {
  /** Bytes, where they were announced. */
  readonly length?: number;
  /** Read once, if at all. @throws ABORTED when its sender is gone */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** What goes in or out beside the input and output of a call, and is never held in memory as a whole. */
export type Transfer =
  | { readonly take: TakeDownload }
  | { readonly body: UploadBody }
  | { readonly command: CommandTransfer };

/** A command that is to be run, and who is told of its process. */
export interface CommandTransfer {
  readonly request: ExecRequest;
  /** Called once, when it runs. */
  readonly started: (process: SandboxProcess) => void;
  readonly filesOf: (mount: ExecMount) => SandboxFiles;
}

/** What is told a call that needs one. */
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

/** Whole files in and out, as operations like any other: same rights, same audit, and turns of their own. */
export interface FileTransfers {
  /** @throws FileAdapterError */
  download(input: DownloadInput, take: TakeDownload, context: SurfaceContext): Promise<void>;
  /** @throws FileAdapterError, and then nothing has changed */
  upload(input: UploadInput, body: UploadBody, context: SurfaceContext): Promise<Uploaded>;
}

export type Direction = "download" | "upload";

/** One use of one file. `path` is canonical. */
export interface TicketRequest {
  readonly direction: Direction;
  readonly root: string;
  readonly path: string;
  readonly ttlSeconds: number;
}

/** A way to use a file once more without naming oneself. */
export interface Ticket {
  readonly href: string;
  readonly method: "GET" | "PUT";
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** Makes tickets. What the caller may do is judged again whenever one is used. */
export interface TicketOffice {
  /** `undefined`: there is no HTTP here that would take one. */
  issue(request: TicketRequest, context: SurfaceContext): Ticket | undefined;
}
