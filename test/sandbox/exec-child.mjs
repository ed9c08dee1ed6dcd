// One command of an adapter in a process of its own, to be killed: `node exec-child.mjs <root> <command>`.
import { existsSync } from "node:fs";

const built = new URL("../../dist/index.js", import.meta.url);
if (!existsSync(built)) {
  process.stderr.write("dist/ is missing: run `npm run build` first (`npm test` does)\n");
  process.exit(1);
}
const { createFileAdapter, createSandbox, DEFAULT_SHELL, SHELL_PATH } = await import(built.href);
const [path, command] = process.argv.slice(2);
const adapter = await createFileAdapter({ roots: { r: { path } } });
const running = await adapter.exec({
  sandbox: await createSandbox({ ...DEFAULT_SHELL, driver: "bwrap" }),
  ...{ mounts: [{ root: "r", at: "/workspace" }], argv: ["/bin/sh", "-c", command], command },
  ...{ cwd: "/workspace", env: { PATH: SHELL_PATH, HOME: "/workspace" } },
  ...{ timeoutMs: 600_000, outputBytes: 65_536, keep: "head" },
});
await running.exited;
await adapter.close();
