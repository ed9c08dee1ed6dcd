// Port of the asset store: metadata and content under ids derived from the metadata, and its failures.

import type { Caller } from "../call/caller.js";
import type { Page, Paged } from "../call/page.js";
import type { JsonObject, ResolveAsset, StoreAsset } from "./adapter.js";

/**
 * Why an asset call failed. `forbidden`: the caller may not write. `full`: over `assets.maxTotalBytes`, or disk full.
 * `invalid_metadata`: not representable as canonical JSON.
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

/** Details for the caller, besides the reference. */
export interface AssetErrorData {
  /** `hash_mismatch`: required SHA-256 of the content, lower-case hex. */
  readonly expected?: string;
  /** `too_large`: size in bytes, if known, and the limit. */
  readonly size?: number;
  readonly limit?: number;
  /** `invalid_metadata`: one phrase. */
  readonly reason?: string;
}

/** Expected failures of {@link Assets}; anything else it throws is an internal error. */
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

/** Entry in the list of the caller's own assets; long texts are truncated. */
export interface OwnAsset {
  readonly id: string;
  readonly name?: string;
  readonly type?: string;
  readonly description?: string;
}

/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Stored content, ready to be streamed. */
export interface StoredContent {
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly contentType?: string;
  readonly fileName?: string;
  /** Opened at the first chunk; drain a started iterator or close it with `return`. Default range: everything. */
  open(range?: ByteRange): AsyncIterable<Uint8Array>;
}

/** The assets of a venue: metadata under ids derived from it, and content. Operation assets are among them. */
export interface Assets {
  /** Number of assets, those of operations included. */
  readonly size: number;
  /**
   * Registers metadata. Byte-identical JSON text has the same id.
   *
   * @param json the text of the metadata; default: compact JSON
   * @throws AssetError forbidden, invalid_metadata, too_large, full
   */
  register(metadata: JsonObject, caller: Caller, json?: string): Promise<string>;
  /**
   * Takes in what other instances have stored: before a list, and before a reference that may be new here.
   *
   * @param reference only if it is not known here
   * @throws STORE_UNAVAILABLE
   */
  refresh(reference?: string): Promise<void>;
  /** All ids, newest first. */
  list(page: Page): Paged<string>;
  /** Assets registered by the caller, newest first. */
  listOwn(page: Page, caller: Caller): Paged<OwnAsset>;
  /** The parsed metadata; integers beyond 2^53 are rounded to doubles. @throws AssetError invalid_id, not_found */
  metadata(reference: string): JsonObject;
  /** The metadata as registered, byte for byte. @throws AssetError invalid_id, not_found */
  metadataJson(reference: string): Uint8Array;
  /**
   * Stores content, visible only once its hash is verified. An error of `body` propagates, and nothing is stored.
   *
   * @returns lower-case hex SHA-256
   * @throws AssetError forbidden, invalid_id, not_found, no_content_object, hash_mismatch, too_large, full
   */
  putContent(reference: string, body: AsyncIterable<Uint8Array>, caller: Caller): Promise<string>;
  /** As {@link StoreAsset}, for a caller. An error of `content` propagates, and nothing is stored. */
  store(...given: [...Parameters<StoreAsset>, caller: Caller]): Promise<string>;
  /** @throws AssetError invalid_id, not_found, no_content */
  content(reference: string): Promise<StoredContent>;
  /** Resolves an asset reference for an operation. */
  readonly resolve: ResolveAsset;
  close(): Promise<void>;
}
