import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const project = fileURLToPath(new URL("../../../", import.meta.url));

/** The sources of drives as other processes can run them, whatever state the build is in. */
export interface Compiled {
  /** Of a file of the project, `test/drive/store/child.ts`. */
  file(source: string): string;
  remove(): void;
}

/** Each program in one file, so that starting it many times costs little. */
export function compile(): Compiled {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "vf-compiled-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(join(project, "node_modules"), join(folder, "node_modules"));
  return {
    file(source) {
      // Below `dist`, as the program lies in its package.
      const target = join(folder, "dist", source.replace(/\.ts$/, ".js"));
      if (!existsSync(target)) bundle(join(project, source), target);
      return target;
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function bundle(source: string, target: string): void {
  buildSync({
    ...{ entryPoints: [source], outfile: target, bundle: true, packages: "external" },
    ...{ format: "esm", platform: "node", target: "node20.19", logLevel: "warning" },
  });
}
