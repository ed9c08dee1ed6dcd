// Opens the assets of a venue where its configuration keeps them.

import { join } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { S3Config, VenueConfig } from "../../config/types.js";
import { systemClock } from "../../core/clock.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import type { Log } from "../../core/ports/log.js";
import { createAssets, type VenueAssets } from "../assets/assets.js";
import { AssetMemory } from "../assets/memory.js";
import type { AssetStore } from "../assets/store.js";
import { openPath } from "./open-parts.js";
import { NO_CREDENTIALS, s3Access } from "./s3-access.js";
import { openState } from "./state/place.js";

interface AssetParts {
  /** DID of the venue. */
  readonly did: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Opens the assets. @throws ConfigError */
export async function openAssets(config: VenueConfig, parts: AssetParts): Promise<VenueAssets> {
  const { did, log } = parts;
  return createAssets({
    did,
    log,
    store: await openStore(config, parts),
    write: config.assets.write ?? (isLoopbackListener(config) ? "public" : "operator"),
    maxTotalBytes: config.assets.maxTotalBytes,
    maxContentSize: config.maxContentSize,
    clock: systemClock,
  });
}

async function openStore(config: VenueConfig, parts: AssetParts): Promise<AssetStore> {
  const { storage } = config;
  if (storage.content === "memory") return new AssetMemory();
  if (storage.content === "s3") return openBucketOf(storage.s3, config, parts);
  const { path } = storage;
  const { openAssetFiles } = await import("../assets/files.js");
  return openPath("storage.path", path, () => openAssetFiles(path, parts.log));
}

async function openBucketOf(s3: S3Config, config: VenueConfig, { did, env, log }: AssetParts): Promise<AssetStore> {
  const cannotOpen = (reason: string) => new ConfigError([`'storage.s3' cannot be opened: ${reason}`], 78);
  const { credentials, ...place } = s3Access(s3, env);
  if (credentials === undefined) throw cannotOpen(NO_CREDENTIALS);
  const folder = join(openState(config, env, "storage.s3"), "asset-uploads");
  const { openAssetBucket } = await import("../assets/bucket.js");
  try {
    return await openAssetBucket({ ...place, credentials, did, folder, log });
  } catch (error) {
    throw error instanceof FileAdapterError ? cannotOpen(error.message) : error;
  }
}
