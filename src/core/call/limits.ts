/** Limits of one adapter (`file.limits`). Sizes are bytes. */
export interface Limits {
  /** Most bytes one read returns, unless the surface sets a tighter budget. */
  readonly maxReadBytes: number;
  /** Most bytes of `content`, `value` or `bytes` in one write or append. */
  readonly maxWriteBytes: number;
  /** Most bytes an asset may bring into one write or append. */
  readonly maxContentSize: number;
  /** Most bytes of a file that is uploaded. */
  readonly maxUploadBytes: number;
  /** Longest run of one operation, waiting included. */
  readonly timeoutMs: number;
  /** Operations running at once; further calls wait. */
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

/** What a surface whose answers go into a model's context adds to a read. Sizes are bytes. */
export interface ReadBudget {
  /** A text read that asks for no range is cut to this many bytes… */
  readonly defaultBytes: number;
  /** …and to this many lines. */
  readonly defaultLines: number;
  /** Most bytes of any one read. */
  readonly maxBytes: number;
}
