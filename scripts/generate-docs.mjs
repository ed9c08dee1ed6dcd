// Writes docs/configuration.md from schemas/config.json. A test fails when the two differ.
import { readFileSync, writeFileSync } from "node:fs";

const schema = JSON.parse(readFileSync(new URL("../schemas/config.json", import.meta.url), "utf8"));
const target = new URL("../docs/configuration.md", import.meta.url);

const INTRODUCTION = `# Configuration

JSON5, given with \`--config FILE\`; none is searched for. No object has a key twice. Relative paths are relative to the file's folder. An unknown key, a
wrong type or a key of a later version stops the start, and all problems are told at once, in the order of the file, each
as \`file:line:column: problem\`. \`venue-files check\` also tells what a start would find: folders that are missing or cannot be written, secrets that
cannot be trusted, an address that is none of this machine. It makes nothing, and asks neither whether a port or folder is in use now nor
whether a bucket can be reached. Exit status: 66 the file cannot be read, 78 it is invalid, 69 the port cannot be had. [config.example.json5](../config.example.json5) is a complete example.

The file holds one venue with the keys below, or several as \`{ venues: [ {…}, {…} ] }\`: each is one server in the process, and
none starts when any is invalid. Two venues cannot share an address, a socket, an audit file, a storage folder, a folder of
drives, or a name together with a \`stateDir\`: each has its own folder \`stateDir/<name>\`.

Roots given with \`--root NAME=PATH[:ro]\` come after those of the file; they need a file with one venue. Without any root
there is one temp root, \`tmp\`.

*On loopback*: the venue listens on a loopback address or a Unix socket, has no \`baseUrl\` that is not loopback, and
\`trustProxy\` is off. Sizes are bytes, times milliseconds unless the meaning says seconds.

| key | default | meaning |
|---|---|---|
`;

const resolve = (node) => (node.$ref === undefined ? node : { ...at(node.$ref), ...node });
const at = (reference) =>
  reference
    .slice(2)
    .split("/")
    .reduce((node, key) => node[key], schema);

/** The form with members of a value that may be written in several ways. */
const compoundOf = (node) =>
  [node, ...(node.anyOf ?? [])].map(resolve).find((one) => one.properties ?? one.additionalProperties ?? one.items);

function* rows(node, path) {
  for (const [key, value] of Object.entries(node.properties ?? {})) yield* row(resolve(value), [...path, key]);
  if (typeof node.additionalProperties === "object")
    yield* children(resolve(node.additionalProperties), [...path, "<name>"]);
}

function* row(value, path) {
  const isGroup = typeof value.default === "object" && !Array.isArray(value.default);
  const standard = value.default === undefined || isGroup ? "" : `\`${JSON.stringify(value.default)}\``;
  yield `| \`${path.join(".")}\` | ${standard} | ${plain(value.description ?? "")} |`;
  yield* children(value, path);
}

/** Text in which Markdown finds nothing to set. */
const plain = (text) => text.replace(/[<*|]/g, "\\$&");

function* children(value, path) {
  const inner = compoundOf(value);
  if (inner?.items !== undefined) yield* children(resolve(inner.items), [...path.slice(0, -1), `${path.at(-1)}[]`]);
  else if (inner !== undefined) yield* rows(inner, path);
}

/** The text of `docs/configuration.md`. */
export const generateConfigurationReference = () => `${INTRODUCTION}${[...rows(schema.$defs.venue, [])].join("\n")}\n`;

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(target, generateConfigurationReference());
