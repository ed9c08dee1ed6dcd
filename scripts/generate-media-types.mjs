// Writes the media types by extension of `mime-types` to dist/, so that no process loads that package: it takes some 10 ms to
// make this table. Part of `npm run build`. `src/ops/content/mime.ts` loads it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import mimeTypes from "mime-types";

const TARGET = fileURLToPath(new URL("../dist/ops/content/media-types.json", import.meta.url));

mkdirSync(dirname(TARGET), { recursive: true });
writeFileSync(TARGET, JSON.stringify(mimeTypes.types));
