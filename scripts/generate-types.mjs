// Writes src/schema/types.ts from schemas/file/*.json, schemas/archive/*.json and schemas/config.json. A test fails when they differ.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { configTypes } from "./config-types.mjs";

const schemas = new URL("../schemas/file/", import.meta.url);
const target = new URL("../src/schema/types.ts", import.meta.url);

const ORDER = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep", "create", "write", "edit", "append"],
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

/** Fields that a call may leave out and an operation always gets: a reference names the root, `from` the path. */
function namedBy({ properties, required = [] }) {
  const isPlace = properties.root !== undefined && properties.last === undefined && properties.actor === undefined;
  const fields = isPlace ? ["root", ...(properties.from === undefined ? [] : ["path"])] : [];
  return fields.filter((name) => !required.includes(name));
}

/** A type as text. */
const typeOfSchema = (schema, name) =>
  compile(withUnknown(schema), name, {
    bannerComment: "",
    additionalProperties: false,
    format: true,
    // A tuple type for each least number of items would be more trouble than it is worth.
    ignoreMinAndMaxItems: true,
  });

/** The text of `src/schema/types.ts`. */
export async function generateTypes() {
  const names = readdirSync(schemas)
    .map((file) => file.replace(/\.json$/, ""))
    .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const parts = ["// Generated from schemas/ by `npm run types`. Do not edit.\n"];
  const named = new Map();
  for (const name of names) {
    const { input, output } = JSON.parse(readFileSync(new URL(`${name}.json`, schemas), "utf8"));
    named.set(name, namedBy(input));
    const whole = { ...input, required: [...named.get(name), ...(input.required ?? [])] };
    parts.push(
      await typeOfSchema(whole, `${capital(name)}Input`),
      await typeOfSchema(output, `${capital(name)}Output`),
    );
  }
  for (const name of ["list", "extract", "zip"]) {
    const { input, output } = JSON.parse(readFileSync(new URL(`../archive/${name}.json`, schemas), "utf8"));
    const type = `Archive${capital(name)}`;
    parts.push(await typeOfSchema(input, `${type}Input`), await typeOfSchema(output, `${type}Output`));
  }
  const typeOf = (name, kind) => {
    const fields = kind === "Input" ? named.get(name) : [];
    const type = `${capital(name)}${kind}`;
    return fields.length === 0 ? type : `Unnamed<${type}, ${fields.map((field) => `"${field}"`).join(" | ")}>`;
  };
  const row = (kind) => names.map((name) => `  readonly "file:${name}": ${typeOf(name, kind)};`).join("\n");
  parts.push(
    "/** An input whose named fields a call may leave out, where a reference says them. */\n" +
      "export type Unnamed<Input, Fields extends keyof Input> = Omit<Input, Fields> & Partial<Pick<Input, Fields>>;\n",
  );
  parts.push(`/** Input of each operation. */\nexport interface FileInputs {\n${row("Input")}\n}\n`);
  parts.push(`/** Output of each operation. */\nexport interface FileOutputs {\n${row("Output")}\n}\n`);
  parts.push(`${configTypes(JSON.parse(readFileSync(new URL("../config.json", schemas), "utf8")))}\n`);
  return parts.join("\n");
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(target, await generateTypes());
