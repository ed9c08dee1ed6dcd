// The entry of the MCP registry (server.json, schema 2025-12-11), made from package.json. `node scripts/release/server-json.mjs FILE.mcpb`
// prints it with the hash of the bundle.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

const FOLDER = {
  type: "positional",
  valueHint: "folder",
  description: "A folder that agents get; .git in it may be read, not changed.",
  isRequired: true,
  isRepeated: true,
  format: "filepath",
};

/** @param mcpb name and SHA-256 of the bundle, where it is part of the release */
export function serverJson(mcpb) {
  const { version, homepage, description, mcpName } = manifest;
  const transport = { type: "stdio" };
  const packageArguments = [{ type: "positional", value: "mcp" }, FOLDER];
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: mcpName,
    title: "venue-files",
    description: description.slice(0, 100),
    version,
    websiteUrl: homepage,
    packages: [
      { registryType: "npm", identifier: manifest.name, version, runtimeHint: "npx", transport, packageArguments },
      {
        registryType: "oci",
        identifier: `${new URL(homepage).hostname}/venue-files:${version}`,
        transport,
        packageArguments,
      },
      ...(mcpb === undefined
        ? []
        : [
            {
              registryType: "mcpb",
              identifier: new URL(`releases/v${version}/${mcpb.name}`, homepage).href,
              version,
              fileSha256: mcpb.sha256,
              transport,
            },
          ]),
    ],
  };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [, , file] = process.argv;
  const mcpb = file && { name: basename(file), sha256: createHash("sha256").update(readFileSync(file)).digest("hex") };
  process.stdout.write(`${JSON.stringify(serverJson(mcpb), undefined, 2)}\n`);
}
