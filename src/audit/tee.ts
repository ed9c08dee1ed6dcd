import type { AuditRecord, AuditSink } from "./record.js";

/**
 * Combines several sinks: each receives every record, even if another throws. @returns a sink that throws the first
 * failure
 */
export function teeSink(...sinks: readonly AuditSink[]): AuditSink {
  return {
    write: (record: AuditRecord) => {
      const failures: unknown[] = [];
      for (const sink of sinks) {
        try {
          sink.write(record);
        } catch (error) {
          failures.push(error);
        }
      }
      // The caller handles sinks that throw although they must not.
      if (failures.length > 0) throw failures[0];
    },
    close: async () => {
      const ends = await Promise.allSettled(sinks.map((sink) => sink.close()));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
  };
}
