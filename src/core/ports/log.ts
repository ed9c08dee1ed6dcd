/** Structured log of a venue. Lines hold no contents, tokens or host paths. */
export interface Log {
  /** Whether debug lines are written, for callers that would write many. Default: true. */
  readonly debugs?: boolean;
  debug(fields: LogFields, text: string): void;
  info(fields: LogFields, text: string): void;
  warn(fields: LogFields, text: string): void;
  error(fields: LogFields, text: string): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** Discards everything. */
export const silentLog: Log = { debugs: false, debug() {}, info() {}, warn() {}, error() {} };
