import type { Caller } from "../call/caller.js";
import type { Page, Paged } from "../call/page.js";
import type { JsonObject, ResolveAsset } from "./adapter.js";

/**
 * Why an asset call failed. `forbidden`: the caller may not write. `full`: over `assets.maxTotalBytes`, or the disk is.
 * `invalid_metadata`: not to be written as canonical JSON.
 */
export type AssetFault =
  | "invalid_id"
  | "invalid_metadata"
  | "not_found"
  | "no_content_object"
  | "hash_mismatch"
  | "too_large"
  | "no_content"
  | "forbidden"
  | "full";

/** What a surface needs to tell the caller, besides the reference. */
export interface AssetErrorData {
  /** `hash_mismatch`: lower-case hex SHA-256 the content must have. */
  readonly expected?: string;
  /** `too_large`: bytes, where they are known, and most bytes. */
  readonly size?: number;
  readonly limit?: number;
  /** `invalid_metadata`: one phrase. */
  readonly reason?: string;
}

/** The expected failures of {@link Assets}; anything else it throws is an internal failure. */
export class AssetError extends Error {
  override readonly name = "AssetError";
  readonly fault: AssetFault;
  readonly data: AssetErrorData;

  constructor(fault: AssetFault, data: AssetErrorData = {}) {
    super(`Asset call refused: ${fault}`);
    this.fault = fault;
    this.data = data;
  }
}

/** What a list of one's own assets shows of each; long texts are cut. */
export interface OwnAsset {
  readonly id: string;
  readonly name?: string;
  readonly type?: string;
  readonly description?: string;
}

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Stored content, about to be sent. */
export interface StoredContent {
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly contentType?: string;
  readonly fileName?: string;
  /** Opened at the first chunk; whoever starts to read reads to the end or calls `return`. Default: all of it. */
  open(range?: ByteRange): AsyncIterable<Uint8Array>;
}

/** The assets of a venue: metadata under ids derived from it, and content. Operation assets are among them. */
export interface Assets {
  /** Number of assets, those of operations included. */
  readonly size: number;
  /**
   * Registers metadata; the same JSON text, byte for byte, has the same id.
   *
   * @param json the text of the metadata; default: compact JSON
   * @throws AssetError forbidden, invalid_metadata, too_large, full
   */
  register(metadata: JsonObject, caller: Caller, json?: string): Promise<string>;
  /** All ids, newest first. */
  list(page: Page): Paged<string>;
  /** Those registered by the caller, newest first. */
  listOwn(page: Page, caller: Caller): Paged<OwnAsset>;
  /** The metadata; integers beyond 2^53 are what doubles make of them. @throws AssetError invalid_id, not_found */
  metadata(reference: string): JsonObject;
  /** The metadata as registered, byte for byte. @throws AssetError invalid_id, not_found */
  metadataJson(reference: string): Uint8Array;
  /**
   * Stores content; it can be seen only once its hash is right. A failure of `body` passes through and leaves nothing.
   *
   * @returns lower-case hex SHA-256
   * @throws AssetError forbidden, invalid_id, not_found, no_content_object, hash_mismatch, too_large, full
   */
  putContent(reference: string, body: AsyncIterable<Uint8Array>, caller: Caller): Promise<string>;
  /** @throws AssetError invalid_id, not_found, no_content */
  content(reference: string): Promise<StoredContent>;
  /** Looks an asset reference up for an operation. */
  readonly resolve: ResolveAsset;
  close(): Promise<void>;
}
