// The version of this package.

import { readFileSync } from "node:fs";
import { packageFile } from "./core/package-files.js";

/** Version of this package. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packageFile("package.json"), "utf8")) as {
    version: string;
  };
  return version;
}
