import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Writes the files of a store that the version before format 2 has made. @param path its folder */
export function layOutEarlier(path: string): void {
  const text = readFileSync(new URL("earlier/format-1.json", import.meta.url), "utf8");
  for (const [name, content] of Object.entries<string>(JSON.parse(text))) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), gunzipSync(Buffer.from(content, "base64")));
  }
}
