// Writes src/schema/types.ts from schemas/file/*.json and schemas/config.json. A test fails when they differ.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { configTypes } from "./config-types.mjs";

const schemas = new URL("../schemas/file/", import.meta.url);
const target = new URL("../src/schema/types.ts", import.meta.url);

const ORDER = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep", "write", "edit", "append"],
  ...["mkdir", "move", "copy", "delete", "du", "watch", "transfer"],
];
const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A property without a type takes any JSON value; left alone, the generator would make it an object. */
function withUnknown(schema) {
  const properties = Object.entries(schema.properties).map(([name, property]) => [
    name,
    property.type === undefined && property.anyOf === undefined ? { ...property, tsType: "unknown" } : property,
  ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The text of `src/schema/types.ts`. */
export async function generateTypes() {
  const names = readdirSync(schemas)
    .map((file) => file.replace(/\.json$/, ""))
    .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const parts = ["// Generated from schemas/file/*.json and schemas/config.json by `npm run types`. Do not edit.\n"];
  for (const name of names) {
    const { input, output } = JSON.parse(readFileSync(new URL(`${name}.json`, schemas), "utf8"));
    for (const [kind, schema] of [
      ["Input", input],
      ["Output", output],
    ]) {
      parts.push(
        await compile(withUnknown(schema), `${capital(name)}${kind}`, {
          bannerComment: "",
          additionalProperties: false,
          format: true,
          // A tuple type for each least number of items would be more trouble than it is worth.
          ignoreMinAndMaxItems: true,
        }),
      );
    }
  }
  const row = (kind) => names.map((name) => `  readonly "file:${name}": ${capital(name)}${kind};`).join("\n");
  parts.push(`/** Input of each operation. */\nexport interface FileInputs {\n${row("Input")}\n}\n`);
  parts.push(`/** Output of each operation. */\nexport interface FileOutputs {\n${row("Output")}\n}\n`);
  parts.push(`${configTypes(JSON.parse(readFileSync(new URL("../config.json", schemas), "utf8")))}\n`);
  return parts.join("\n");
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(target, await generateTypes());
