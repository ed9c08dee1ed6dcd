// Expands `~` in configured paths.

import { homedir } from "node:os";

/** A path with a leading `~` as the user's home; `~name` stays as it is. */
export const expandHome = (path: string): string => path.replace(/^~(?=$|[/\\])/, () => homedir());
