import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "@swc/core";

const project = fileURLToPath(new URL("../../../", import.meta.url));

/** The sources of drives as other processes can run them, whatever state the build is in. */
export interface Compiled {
  /** Of a file of the project, `test/drive/store/child.ts`. */
  file(source: string): string;
  remove(): void;
}

export function compile(): Compiled {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "vf-compiled-"));
  for (const group of ["src/core", "src/database", "src/drive", "test/drive/store", "test/database"]) {
    const names = readdirSync(join(project, group), { recursive: true, encoding: "utf8" });
    for (const name of names.filter((one) => one.endsWith(".ts") && !one.endsWith(".test.ts"))) {
      const target = join(folder, group, name.replace(/\.ts$/, ".js"));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, compileOne(readFileSync(join(project, group, name), "utf8")));
    }
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(join(project, "node_modules"), join(folder, "node_modules"));
  return {
    file: (source) => join(folder, source.replace(/\.ts$/, ".js")),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

const compileOne = (source: string): string =>
  transformSync(source, { jsc: { target: "es2023", parser: { syntax: "typescript" } }, module: { type: "es6" } }).code;
