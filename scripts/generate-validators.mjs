// Compiles the input schema of every operation to a module of its own in dist/, so that a process that validates loads neither
// Ajv nor its compiler. Part of `npm run build`. `src/schema/generated.ts` loads them.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { minifySync } from "@swc/core";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { schemaDigest } from "../dist/schema/generated.js";

const SCHEMAS = fileURLToPath(new URL("../schemas/", import.meta.url));
const TARGET = fileURLToPath(new URL("../dist/schema/validators/", import.meta.url));

rmSync(TARGET, { recursive: true, force: true });
for (const entry of readdirSync(SCHEMAS, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.name.endsWith(".json") || path === join(SCHEMAS, "config.json")) continue;
  const { input } = JSON.parse(readFileSync(path, "utf8"));
  const ajv = new Ajv({
    strict: true,
    verbose: true,
    messages: false,
    logger: false,
    code: { source: true, esm: true },
  });
  const digest = schemaDigest(input);
  const target = join(TARGET, `${digest}.js`);
  mkdirSync(dirname(target), { recursive: true });
  const { code } = minifySync(moduleText(standalone.default(ajv, ajv.compile(withoutDescriptions(input)))), {
    ...{ module: true, compress: { toplevel: true }, mangle: { topLevel: true } },
  });
  writeFileSync(target, `// Generated from schemas/${path.slice(SCHEMAS.length)}.\n${code}`);
}

/** A validator carries its schema, for its errors, which say nothing of descriptions. */
function withoutDescriptions(schema) {
  const isText = (key, value) => key === "description" && typeof value === "string";
  return JSON.parse(JSON.stringify(schema), (key, value) => (isText(key, value) ? undefined : value));
}

/** Ajv requires its run-time helpers; a module imports them. */
function moduleText(code) {
  const imports = [];
  const body = code.replace(/require\("(ajv\/dist\/runtime\/\w+)"\)\.default/g, (_, path) => {
    imports.push(`import helper${imports.length} from "${path}.js";`);
    return `helper${imports.length - 1}.default`;
  });
  return [...imports, body].join("\n");
}
