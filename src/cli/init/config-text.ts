// The text of a new configuration: the choices of the user, and as comments the settings that people change next.

import { FOLDER_SETS } from "../../path/pattern-sets.js";

/** A root as chosen. */
export interface ChosenRoot {
  readonly name: string;
  /** Relative to the file, or absolute. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Patterns of files in it that say what agents may do, or what clients start. */
  readonly settings: readonly string[];
}

/**
 * @param schema URL or path of the schema of configurations, for editors
 * @param port `undefined`: the default
 */
export function configText(
  roots: readonly ChosenRoot[],
  { schema, port }: { schema: string; port: number | undefined },
): string {
  const lines = [
    "// venue-files: which folders agents get, and what they may do there.",
    "//   venue-files check --config venue.json5    says what this means",
    "//   venue-files serve --config venue.json5    serves it over HTTP and MCP",
    "{",
    `  $schema: ${JSON.stringify(schema)},`,
    "",
    port === undefined ? "  // port: 8080," : `  port: ${port},`,
    "",
    "  file: {",
    "    roots: {",
    ...roots.flatMap(rootLines),
    "",
    "      // An empty folder that is removed at the end:",
    "      // scratch: { temp: true },",
    "    },",
    "  },",
    "",
    "  // Who else may do what; by default whoever holds the local token, which serve prints, may do everything:",
    "  // auth: {",
    '  //   tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, caps: [{ with: "file://docs/", can: "crud/read" }] }],',
    "  // },",
    "",
    "  // One line for each call:",
    '  // audit: { file: "./audit.jsonl" },',
    "}",
    "",
  ];
  return lines.join("\n");
}

function rootLines({ name, path, readOnly, settings }: ChosenRoot): readonly string[] {
  const kept = [...FOLDER_SETS, ...settings].map((pattern) => JSON.stringify(pattern)).join(", ");
  return [
    `      ${JSON.stringify(name)}: {`,
    `        path: ${JSON.stringify(path)},`,
    readOnly ? "        readOnly: true," : "        // readOnly: true,",
    '        deny: ["@secrets"], // neither shown nor read: .env, keys, and the like',
    "        // May be read, not changed: hooks and history, what is said here, and the programs that clients start",
    `        protect: [${kept}],`,
    "      },",
  ];
}
