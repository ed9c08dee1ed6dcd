// Location and credentials of an S3 bucket, from the configuration and the environment.

import type { S3Config } from "../../config/types.js";

/** Location of a bucket, and the credentials for it. */
export interface S3Access {
  readonly bucket: string;
  readonly prefix: string | undefined;
  /** Absent: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly credentials: AccessKey | undefined;
}

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

const DEFAULT_REGION = "us-east-1";
export const NO_CREDENTIALS =
  "object storage needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment";

/** Where a bucket is, for its operator. */
export function bucketText({ bucket, prefix, endpoint, region }: S3Access): string {
  const below = prefix === undefined ? "" : ` below ${prefix.replace(/\/$/, "")}/`;
  return `in bucket ${bucket}${below} of ${endpoint ?? "AWS"}, region ${region}`;
}

/** Resolves the access to a bucket: from the configuration, else from the environment variables of the AWS tools. */
export function s3Access(s3: S3Config, env: Readonly<Record<string, string | undefined>>): S3Access {
  const given = (...names: readonly string[]): string | undefined =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== "");
  const accessKeyId = given("AWS_ACCESS_KEY_ID");
  const secretAccessKey = given("AWS_SECRET_ACCESS_KEY");
  return {
    bucket: s3.bucket,
    prefix: s3.prefix,
    endpoint: s3.endpoint ?? given("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    region: s3.region ?? given("AWS_REGION", "AWS_DEFAULT_REGION") ?? DEFAULT_REGION,
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : { accessKeyId, secretAccessKey, sessionToken: given("AWS_SESSION_TOKEN") },
  };
}
