import { existsSync } from "node:fs";
import { expect } from "@jest/globals";
import type { AuditRecord } from "../../../src/audit/record.js";
import type { VenueConfig } from "../../../src/config/types.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { openAudit } from "../../../src/venue/start/open-parts.js";
import { needs } from "../../needs.js";

needs(existsSync("/dev/full"), "it writes to /dev/full")(
  "of records that wait for a full disk the log says that they wait, and none counts as lost",
  async () => {
    const told: string[] = [];
    const log = { ...silentLog, error: (_fields: object, text: string) => void told.push(text) };
    const config = { audit: { file: "/dev/full", maxBytes: 1_000_000, keep: 1 }, stateDir: false } as VenueConfig;
    const audit = await openAudit(config, { env: {}, log, key: undefined });
    for (let count = 0; count < 3; count++) audit?.write({ operation: "file:read" } as unknown as AuditRecord);
    await audit?.written();
    expect(told).toEqual([expect.stringMatching(/^the audit cannot be written: records wait/)]);
    expect(audit?.lost).toBe(0);
    await audit?.close();
    expect(audit?.lost).toBe(3);
  },
);
