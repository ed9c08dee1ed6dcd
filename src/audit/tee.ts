import type { AuditRecord, AuditSink } from "./record.js";

/** One sink that is several: each gets every record, also when another throws. */
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
      // Whoever called knows what to do with a sink that breaks its promise.
      if (failures.length > 0) throw failures[0];
    },
    close: async () => {
      const ends = await Promise.allSettled(sinks.map((sink) => sink.close()));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
  };
}
