// The version of this package.

import { readFileSync } from "node:fs";
import { packageFile } from "./core/package-files.js";

let known: string | undefined;

/** Version of this package. */
export function packageVersion(): string {
  known ??= (JSON.parse(readFileSync(packageFile("package.json"), "utf8")) as { version: string }).version;
  return known;
}
