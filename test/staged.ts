import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const HIDES_IT = [".gitignore", ".hg"];

/** What lies in the staging directory of a root, but what hides it from version control; `undefined`: there is none. */
export function stagedIn(root: string): string[] | undefined {
  const stage = join(root, ".venue-files");
  return existsSync(stage) ? readdirSync(stage).filter((name) => !HIDES_IT.includes(name)) : undefined;
}
