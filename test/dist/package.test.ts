// What a package's users get: the files of the tarball, and types for everything that `exports` reaches.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "@jest/globals";
import ts from "typescript";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const NAMES = fileURLToPath(new URL("public-names.json", import.meta.url));

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as Manifest;
const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name, ...target }],
);

/** Files of the tarball as npm would make it. */
function packedFiles(): readonly string[] {
  const output = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: PACKAGE,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, npm_config_loglevel: "error" },
  });
  const [{ files }] = JSON.parse(output) as [{ files: readonly { path: string }[] }];
  return files.map(({ path }) => path);
}

test("the manifest says where the project is, and what it is about", () => {
  expect(manifest).toMatchObject({
    homepage: expect.stringMatching(/^https:/),
    repository: { type: "git", url: expect.stringMatching(/^git\+https:/) },
    bugs: { url: expect.stringMatching(/^https:/) },
    keywords: expect.arrayContaining(["mcp", "filesystem"]),
  });
});

describe("the tarball", () => {
  let files: readonly string[];
  beforeAll(() => {
    files = packedFiles();
  });

  test("holds what exports and bin name, the schemas, and no leftovers of the build", () => {
    const named = [...entries.flatMap((entry) => [entry.types, entry.default]), ...Object.values(manifest.bin)];
    expect(files).toEqual(expect.arrayContaining(named.map((path) => path.replace(/^\.\//, ""))));
    expect(files).toEqual(expect.arrayContaining(["schemas/config.json", "schemas/file/read.json"]));
    // A map without the sources it names helps nobody.
    expect(files.filter((path) => /\.map$|tsbuildinfo|^src\/|^test\//.test(path))).toEqual([]);
  });

  test("links no source map", () => {
    const linking = files.filter(
      (path) => path.endsWith(".js") && readFileSync(join(PACKAGE, path), "utf8").includes("sourceMappingURL"),
    );
    expect(linking).toEqual([]);
  });
});

describe("the published types", () => {
  const program = ts.createProgram(
    entries.map(({ types }) => join(PACKAGE, types)),
    {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      lib: ["lib.es2024.d.ts"],
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types: ["node"],
      typeRoots: [join(PACKAGE, "node_modules/@types")],
    },
  );

  test("compile in a strict project that checks libraries", () => {
    const faults = ts
      .getPreEmitDiagnostics(program)
      .filter(({ file }) => file === undefined || file.fileName.includes("/dist/"))
      .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
    expect(faults).toEqual([]);
  });

  test.each(entries)("of $name are the names that were promised", ({ name, types }) => {
    const checker = program.getTypeChecker();
    const source = program.getSourceFile(join(PACKAGE, types));
    const symbol = source && checker.getSymbolAtLocation(source);
    const names = symbol === undefined ? [] : checker.getExportsOfModule(symbol).map((each) => each.getName());
    const promised = JSON.parse(readFileSync(NAMES, "utf8")) as Readonly<Record<string, readonly string[]>>;
    // A name that goes or comes is a change for users: public-names.json and CHANGELOG.md change with it.
    expect(names.sort()).toEqual(promised[name]);
  });

  test("stand at the paths that were promised", () => {
    expect(manifest.exports).toEqual({
      ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
      "./drive": { types: "./dist/drive/index.d.ts", default: "./dist/drive/index.js" },
      "./acp": { types: "./dist/surfaces/acp/index.d.ts", default: "./dist/surfaces/acp/index.js" },
      "./backend-suite": { types: "./dist/backend-suite/index.d.ts", default: "./dist/backend-suite/index.js" },
      "./package.json": "./package.json",
    });
    expect(manifest.bin).toEqual({ "venue-files": "dist/cli.js" });
  });
});
