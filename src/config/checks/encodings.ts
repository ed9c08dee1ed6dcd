import { isEncodingName } from "../../ops/content/encoding.js";
import { below, type Place, quoted } from "./check-schema.js";
import { isObject } from "./json-schema.js";

/** Checks encoding names against the supported encodings. @param file place of the file adapter's part */
export function checkEncodings(file: Place, roots: Readonly<Record<string, unknown>> | undefined): void {
  for (const [name, root] of Object.entries(roots ?? {})) {
    const encoding = isObject(root) ? root["encoding"] : undefined;
    if (typeof encoding !== "string" || encoding === "" || isEncodingName(encoding)) continue;
    const place = ["roots", name, "encoding"].reduce<Place>(below, file);
    file.check.problems.push(`${quoted(place)} must be the name of a text encoding, such as utf-8 or latin1`);
  }
}
