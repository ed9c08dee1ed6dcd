// Reads the workspace page that the build made, once, so that the HTTP surface serves it from memory.

import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { ConfigError } from "../../config/errors.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { packageFile } from "../../core/package-files.js";
import type { Log } from "../../core/ports/log.js";
import { codeOf } from "../../core/unknown.js";
import type { WorkspaceAsset, WorkspacePage } from "../../surfaces/http/host.js";

/** Manifest written by `web/build.mjs`: content types by file name. The files themselves are compressed. */
interface Manifest {
  readonly assets: Readonly<Record<string, string>>;
}

const FOLDER = "dist/web/";

/** Whether a venue serves the page. */
export const servesWorkspace = (config: VenueConfig): boolean =>
  config.workspace === undefined ? isLoopbackListener(config) : config.workspace !== false;

/**
 * Reads the page, where the configuration wants it.
 *
 * @returns `undefined`: it is off, or was not built and is not asked for
 * @throws ConfigError if it is asked for and was not built
 */
export function openWorkspace(config: VenueConfig, log: Log): WorkspacePage | undefined {
  if (!servesWorkspace(config)) return undefined;
  try {
    return readPage(draftsOf(config));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    if (config.workspace !== undefined) {
      throw new ConfigError(["'workspace' cannot be served: the page is not built. Run 'npm run build'"], 78);
    }
    log.warn({}, "the workspace page is not built");
    return undefined;
  }
}

const draftsOf = ({ workspace }: VenueConfig): boolean => typeof workspace !== "object" || workspace.drafts;

function readPage(drafts: boolean): WorkspacePage {
  const manifest: Manifest = JSON.parse(readFileSync(packageFile(`${FOLDER}manifest.json`), "utf8"));
  const assets = new Map(Object.entries(manifest.assets).map(([name, type]) => [name, readAsset(name, type)]));
  const document = readText("index.html.br")
    .replaceAll("%drafts%", drafts ? "on" : "off")
    .split("%nonce%");
  const preview = readText("preview.html.br").split("%nonce%");
  return {
    // The base is a path of the operator's own URL; it stands in an attribute all the same.
    document: (nonce, base) => document.join(nonce).replaceAll("%base%", escapeAttribute(base)),
    preview: (nonce) => preview.join(nonce),
    asset: (name) => assets.get(name),
  };
}

function readAsset(name: string, type: string): WorkspaceAsset {
  const brotli = readFileSync(packageFile(`${FOLDER}assets/${name}.br`));
  let plain: Buffer | undefined;
  return {
    type,
    brotli,
    plain() {
      plain ??= brotliDecompressSync(brotli);
      return plain;
    },
  };
}

const readText = (name: string): string =>
  brotliDecompressSync(readFileSync(packageFile(`${FOLDER}${name}`))).toString("utf8");

const escapeAttribute = (text: string): string => text.replace(/[&"<>]/g, (char) => `&#${char.charCodeAt(0)};`);
