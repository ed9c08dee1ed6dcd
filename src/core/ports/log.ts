/** Structured log of a venue. Lines hold no contents, tokens or host paths. */
export interface Log {
  /** Whether lines of level debug are written at all, for callers that would write many. Absent: they are. */
  readonly debugs?: boolean;
  debug(fields: LogFields, text: string): void;
  info(fields: LogFields, text: string): void;
  warn(fields: LogFields, text: string): void;
  error(fields: LogFields, text: string): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** For hosts that want no log. */
export const silentLog: Log = { debugs: false, debug() {}, info() {}, warn() {}, error() {} };
