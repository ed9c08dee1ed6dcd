// The venue's side of WebDAV: settings, facts of roots, and a file for the properties of clients.

import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { replaceWhole } from "../../database/durable-files.js";
import { errnoOf } from "../../jail/sys.js";
import type { DavFile, HttpDav } from "../../surfaces/http/host.js";
import type { VenueHostOptions } from "../venue.js";
import { openState, stateDirOf } from "./state/place.js";

const DEFAULTS = { anonymous: false, lockSeconds: 3600, maxLocks: 10_000 };
/** File in the state directory. */
const PROPERTIES = "webdav-properties.json";

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether a venue serves WebDAV. */
export const servesDav = (config: VenueConfig): boolean => {
  const { webdav = isLoopbackListener(config) } = config;
  return typeof webdav === "boolean" ? webdav : webdav.enabled;
};

/** @returns `undefined`: it is off */
export function davOptions(
  config: VenueConfig,
  {
    env,
    roots,
    log,
    onLocks,
    makeLocks,
  }: Pick<HttpDav, "onLocks" | "makeLocks"> & {
    readonly env: Environment;
    readonly roots: () => readonly RootFacts[];
    readonly log: Log;
  },
): VenueHostOptions["dav"] {
  if (!servesDav(config)) return undefined;
  const { anonymous, lockSeconds, maxLocks } = typeof config.webdav === "object" ? config.webdav : DEFAULTS;
  return {
    ...{ anonymous, lockSeconds, maxLocks, onLocks, makeLocks },
    maxDriveBytes: config.drives.limits.maxDriveBytes,
    root: (name) => roots().find((root) => root.name === name),
    // Instances share properties; what is in temp roots goes with the instance.
    ...(config.stateDir === false || makeLocks !== undefined ? {} : { propertyFile: propertyFile(config, env, log) }),
  };
}

/** The state directory is made when the first property is stored. */
function propertyFile(config: VenueConfig, env: Environment, log: Log): DavFile {
  return {
    async read() {
      try {
        return await readFile(join(stateDirOf(config, env), PROPERTIES), "utf8");
      } catch (error) {
        if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
        throw error;
      }
    },
    async write(text) {
      await replaceWhole(join(openState(config, env, "webdav"), PROPERTIES), text, { durable: true });
    },
    async setAside() {
      const path = join(stateDirOf(config, env), PROPERTIES);
      // Where nothing can be written, it is not written over either.
      await rename(path, `${path}.damaged`).catch(() => undefined);
      const text =
        "The properties of WebDAV clients are damaged: what can be read of them stays, the file is set aside";
      log.error({ event: "webdav-properties-damaged", file: `${path}.damaged` }, text);
    },
  };
}
