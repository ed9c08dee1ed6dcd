// Error texts for failed S3 requests.

import type { FileAdapterError } from "../../../../core/errors/errors.js";
import { storeUnavailable } from "../../checks.js";

/** An error response of the object storage. */
export interface RefusedAnswer {
  readonly status: number;
  /** S3 error code, for example `NoSuchBucket`; empty if the response has none. */
  readonly code: string;
  readonly writes: boolean;
}

const BAD_KEY = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "InvalidToken",
  "ExpiredToken",
  "TokenRefreshRequired",
]);
const BAD_REGION = new Set(["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"]);

const NO_S3 = "does not answer as S3 does: check the endpoint and the bucket";

/** The error for an answer that is not S3's, such as a web page or no listing. */
export const noS3 = (): FileAdapterError => storeUnavailable(`the object storage ${NO_S3}`);

/** Tells what an operator can do about an error response; contains no paths, keys or hashes. */
export function answerError({ status, code, writes }: RefusedAnswer): FileAdapterError {
  return storeUnavailable(`the object storage ${adviceFor(status, code, writes)}`);
}

function adviceFor(status: number, code: string, writes: boolean): string {
  if (BAD_KEY.has(code) || status === 401)
    return "refuses the access key: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
  if (code === "RequestTimeTooSkewed") return "refuses requests by this machine's clock: set the clock";
  if (code === "NoSuchBucket") return "has no such bucket: create it, or check the bucket and the endpoint";
  if (BAD_REGION.has(code) || (status >= 300 && status < 400))
    return "has the bucket in another region or place: check the region and the endpoint";
  if (status === 403)
    return writes
      ? "does not let this access key write: allow it to put and delete objects of the bucket"
      : "does not let this access key read: allow it to get objects and to list the bucket";
  if (status === 404 || status === 405) return NO_S3;
  if (status === 429 || status >= 500) return `is too busy or out of order (${status}): try again later`;
  return `refuses a request (${status}): check the endpoint and the bucket`;
}

/** The endpoint is unreachable. @param why the system's error code, for example `ECONNREFUSED` */
export const noAnswer = (why: string): FileAdapterError =>
  storeUnavailable(`the object storage does not answer (${why}): check the endpoint and the network`);
