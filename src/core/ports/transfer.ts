// Port of transfers: whole files streamed in and out as operations, and tickets for single transfers.

import type { Sha256 } from "../etag.js";
import type { SurfaceContext } from "./adapter.js";
import type { TakeDownload, UploadBody } from "./streams.js";

/** Most bytes of a part that is added to a file: it is held in memory, and is there as a whole or not at all. */
export const PART_BYTES = 8_388_608;

/** Input of a download. */
export interface DownloadInput {
  readonly root: string;
  readonly path: string;
  /** Content before or after a recorded change: `<entry id>:before`. Downloads only. */
  readonly version?: string;
}

export interface UploadInput extends Omit<DownloadInput, "version"> {
  readonly parents?: boolean;
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  /** Bytes that the file must have: the body is added to them, as by `append` with `expectedSize`. */
  readonly offset?: number;
  /** Bytes that the file is going to have when all parts are there; more than an upload may have is refused at once. */
  readonly length?: number;
  /** Time that the file gets, in milliseconds since the epoch; drives ignore it. */
  readonly modified?: number;
  /** Repeating the upload with it has no second effect. 1 to 64 of `A-Za-z0-9._-`. */
  readonly operationId?: string;
  /** Id of an approval. */
  readonly approval?: string;
}

export interface Uploaded {
  readonly written: number;
  readonly created: boolean;
  readonly sha256?: Sha256;
  /** Tag of its version stamp; the file has it from now on. */
  readonly tag?: string;
  /** Bytes of the file after a body was added to it. */
  readonly size?: number;
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
  issue(request: TicketRequest, context: SurfaceContext): Promise<Ticket | undefined>;
}
