/** Limits of one adapter (`file.limits`). Sizes are bytes. */
export interface Limits {
  /** Maximum bytes one read returns, unless the surface sets a tighter budget. */
  readonly maxReadBytes: number;
  /** Maximum bytes of `content`, `value` or `bytes` in one write or append. */
  readonly maxWriteBytes: number;
  /** Maximum bytes from an asset in one write or append. */
  readonly maxContentSize: number;
  /** Maximum bytes of an uploaded file. */
  readonly maxUploadBytes: number;
  /** Maximum duration of one operation in milliseconds, waiting included. */
  readonly timeoutMs: number;
  /** Maximum number of concurrent operations; further calls wait. */
  readonly maxConcurrent: number;
}

export const DEFAULT_LIMITS: Limits = {
  maxReadBytes: 8_388_608,
  maxWriteBytes: 8_388_608,
  maxContentSize: 104_857_600,
  maxUploadBytes: 1_073_741_824,
  timeoutMs: 30_000,
  maxConcurrent: 64,
};

/** Fraction of the operations and jobs at once that one caller may have, so that others find room beside its flood. */
export const CALLER_SHARE = 0.75;

/** Tighter limits on reads, set by surfaces whose answers go into a model's context. */
export interface ReadBudget {
  /** A text read up to the end of the file is truncated to this many bytes… */
  readonly defaultBytes: number;
  /** …and to this many lines. */
  readonly defaultLines: number;
  /** Maximum bytes of any one read. */
  readonly maxBytes: number;
  /** Whether the model's list of tools has an operation: `file:transfer`. Absent: it is not known. */
  offers?(operation: string): boolean;
  /** Images cannot be shown, so they are described. */
  readonly hidesImages?: true;
  /** Files come as they are stored: none is rendered, and bytes come whole or not at all. */
  readonly asStored?: true;
}
