// Opens an S3 bucket: where it is, and what is missing there.

import type { Log } from "../../../core/ports/log.js";
import { storeUnavailable } from "../checks.js";
import { newProbeKey } from "./bucket-mode.js";
import {
  createS3Client,
  type S3Client,
  type S3Credentials,
  type S3Options,
  type S3Patience,
} from "./client/s3-client.js";
import { isDigest } from "./roots/owner-roots.js";

export interface BucketOptions {
  readonly bucket: string;
  /** Prefix of all objects, without leading or trailing slash; empty for none. */
  readonly prefix?: string | undefined;
  /** `https://host:port` of the server; omit for AWS. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly credentials: S3Credentials;
  readonly patience?: Partial<S3Patience> | undefined;
}

export interface OpenBucket {
  readonly client: S3Client;
  /** Whether entity tags are digests of contents. */
  readonly hasDigests: boolean;
}

const DEFAULT_PATIENCE: S3Patience = { tries: 5, waitMs: 200, timeoutMs: 15_000 };
/** How long the first request may take. */
const MEET_MS = 8000;

/** @throws STORE_UNAVAILABLE, with advice for the operator, if the bucket cannot be used */
export async function openBucket(options: BucketOptions, log: Log): Promise<OpenBucket> {
  const own: S3Options = {
    ...placeOf(options),
    ...{ region: options.region, credentials: options.credentials, log },
    patience: { ...DEFAULT_PATIENCE, ...options.patience },
  };
  await meet(own);
  const client = createS3Client(own);
  return { client, hasDigests: await probe(client, newProbeKey()) };
}

/** AWS buckets use virtual-hosted-style URLs; other servers, and names that TLS forbids, use path-style. */
function placeOf({ bucket, endpoint, region, prefix = "" }: BucketOptions): { url: string; prefix: string } {
  const host = `s3.${region}.amazonaws.com`;
  const aws = bucket.includes(".") ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
  const url = endpoint === undefined ? aws : `${endpoint.replace(/\/+$/, "")}/${bucket}`;
  return { url, prefix: prefix === "" ? "" : `${prefix.replace(/^\/+|\/+$/g, "")}/` };
}

/** Asks for one listing with little patience: an operator waits for what never answers, or is no object storage. */
async function meet(options: S3Options): Promise<void> {
  const client = createS3Client({ ...options, patience: { ...options.patience, withinMs: MEET_MS } });
  for await (const _ of client.folders("")) break;
}

/**
 * Exercises every request a store needs, so that missing permissions show before anything is acknowledged.
 *
 * @returns whether entity tags are digests of contents
 */
async function probe(client: S3Client, key: string): Promise<boolean> {
  const etags = new Set<string>();
  let hasDigests = true;
  try {
    for (const content of ["venue-files 1\n", "venue-files 2\n"]) {
      await client.put(key, Buffer.from(content));
      const found = await client.get(key, content.length);
      const listed: string[] = [];
      for await (const object of client.objects(key)) if (object.key === key) listed.push(object.etag);
      if (found?.bytes.toString() !== content || listed[0] === undefined)
        throw storeUnavailable("the object storage does not show at once what was put: use one that is consistent");
      etags.add(listed[0]);
      hasDigests &&= isDigest(found) && listed[0] === found.etag;
    }
  } finally {
    await client.remove(key).catch(() => undefined);
  }
  // Entity tags tell which roots have changed.
  if (etags.size < 2 || etags.has(""))
    throw storeUnavailable("the object storage does not give each content an entity tag of its own: use one that does");
  return hasDigests;
}
