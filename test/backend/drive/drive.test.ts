import { DriveBackend } from "../../../src/backend/drive/drive.js";
import { backendSuite } from "../suite.js";
import { openDrives } from "./open-drives.js";

const OWNER = "did:key:z6MkOwner";

backendSuite(
  "drive",
  async () => {
    const drives = openDrives();
    return {
      backend: new DriveBackend({ open: () => drives.of(OWNER), drive: "notes" }),
      cleanup: () => drives.close(),
    };
  },
  { maxDepth: 64 },
);
