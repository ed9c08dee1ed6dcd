import { tmpdir } from "node:os";

/** Where temporary directories on a disk belong. `tmpdir()` may be in memory (test/temporary-directory.mjs). */
export const diskDirectory = (): string => process.env["VENUE_FILES_TEST_DISK"] ?? tmpdir();
