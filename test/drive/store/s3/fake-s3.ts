import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AwsV4Signer } from "aws4fetch";

export const CREDENTIALS = { accessKeyId: "TESTKEY", secretAccessKey: "a secret that no log shows" };
export const REGION = "eu-test-1";

/** What happens to a request instead of its answer. `lost` before, `unheard` after it was done. */
export type Fault =
  | { readonly status: number; readonly code: string }
  | "lost"
  | "unheard"
  /** Answered with the entity tag of something else. */
  | { readonly etag: string }
  /** Answered by a proxy, with a page. */
  | { readonly page: string }
  /** Done when something else is. */
  | { readonly after: Promise<unknown> };

export interface FakeRequest {
  readonly method: string;
  /** Without the bucket; empty for a listing. */
  readonly key: string;
  readonly bytes: number;
  readonly isConditional: boolean;
}

interface StoredObject {
  readonly bytes: Buffer;
  readonly at: number;
}

/** An S3 server in this process: the calls that the store makes, with their semantics. */
export interface FakeS3 {
  readonly endpoint: string;
  readonly objects: Map<string, StoredObject>;
  readonly requests: FakeRequest[];
  /** Asked for each request. */
  fault: ((request: FakeRequest) => Fault | undefined) | undefined;
  isReadOnly: boolean;
  /** Whether If-Match and If-None-Match are looked at. */
  isConditional: boolean;
  now: () => number;
  close(): Promise<void>;
}

export const BUCKET = "drives";
const PAGE = 1000;

export async function startFakeS3(pageSize = PAGE): Promise<FakeS3> {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeS3 = {
    endpoint: `http://127.0.0.1:${port}`,
    objects: new Map(),
    requests: [],
    fault: undefined,
    isReadOnly: false,
    isConditional: true,
    now: Date.now,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    // The signature is of the address that the client knows, which may be a proxy.
    const url = new URL(request.url ?? "/", `http://${request.headers.host}`);
    const [, bucket = "", ...rest] = url.pathname.split("/").map(decodeURIComponent);
    const method = request.method ?? "GET";
    const { "if-match": match, "if-none-match": none } = request.headers;
    const isConditional = match !== undefined || none !== undefined;
    const seen = { method, key: rest.join("/"), bytes: body.length, isConditional };
    fake.requests.push(seen);
    const fault = fake.fault?.(seen);
    if (fault === "lost") return void request.socket.destroy();
    if (fault !== undefined && fault !== "unheard" && "status" in fault) return void refuse(response, fault);
    if (typeof fault === "object" && "page" in fault) {
      return void response.writeHead(200, { "content-type": "text/html" }).end(fault.page);
    }
    if (typeof fault === "object" && "after" in fault) await fault.after;
    const wrong = await judge(request, url, body);
    if (wrong !== undefined) return void refuse(response, wrong);
    if (bucket !== BUCKET) return void refuse(response, { status: 404, code: "NoSuchBucket" });
    if (fault === "unheard") {
      serve(fake, { request, body, key: seen.key, url }, undefined);
      return void request.socket.destroy();
    }
    if (fault !== undefined && "etag" in fault) response.setHeader("x-etag", fault.etag);
    serve(fake, { request, body, key: seen.key, url }, response, pageSize);
  };
  return fake;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Checks the signature as the real one does. */
async function judge(
  request: IncomingMessage,
  url: URL,
  body: Buffer,
): Promise<{ status: number; code: string } | undefined> {
  const given = request.headers.authorization ?? "";
  if (!given.includes(`Credential=${CREDENTIALS.accessKeyId}/`)) return { status: 403, code: "InvalidAccessKeyId" };
  if (!given.includes(`/${REGION}/`)) return { status: 400, code: "AuthorizationHeaderMalformed" };
  const digest = String(request.headers["x-amz-content-sha256"]);
  if (createHash("sha256").update(body).digest("hex") !== digest)
    return { status: 400, code: "XAmzContentSHA256Mismatch" };
  const headers: Record<string, string> = { "x-amz-content-sha256": digest };
  for (const name of ["if-match", "if-none-match"]) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  const signer = new AwsV4Signer({
    ...CREDENTIALS,
    ...{ method: request.method ?? "GET", url: String(url), headers, region: REGION, service: "s3" },
    datetime: String(request.headers["x-amz-date"]),
  });
  return (await signer.authHeader()) === given ? undefined : { status: 403, code: "SignatureDoesNotMatch" };
}

interface Served {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly key: string;
  readonly url: URL;
}

function serve(fake: FakeS3, { request, body, key, url }: Served, response?: ServerResponse, pageSize = PAGE): void {
  const { method, headers } = request;
  const present = fake.objects.get(key);
  if (method !== "GET" && fake.isReadOnly) return void refuse(response, { status: 403, code: "AccessDenied" });
  if (method === "PUT") {
    if (fake.isConditional && headers["if-match"] !== undefined && present === undefined)
      return void refuse(response, { status: 404, code: "NoSuchKey" });
    const isWrong =
      (headers["if-none-match"] === "*" && present !== undefined) ||
      (headers["if-match"] !== undefined && headers["if-match"] !== (present && etagOf(present.bytes)));
    if (fake.isConditional && isWrong) return void refuse(response, { status: 412, code: "PreconditionFailed" });
    fake.objects.set(key, { bytes: body, at: fake.now() });
    response?.writeHead(200, { etag: etagOf(body) }).end();
  } else if (method === "DELETE") {
    fake.objects.delete(key);
    response?.writeHead(204).end();
  } else if (key === "") {
    response?.writeHead(200, { "content-type": "application/xml" }).end(list(fake, url.searchParams, pageSize));
  } else if (present === undefined) refuse(response, { status: 404, code: "NoSuchKey" });
  else if (headers["if-none-match"] === etagOf(present.bytes)) response?.writeHead(304).end();
  else sendObject(present.bytes, headers.range, response);
}

function sendObject(bytes: Buffer, range: string | undefined, response: ServerResponse | undefined): void {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  const etag = String(response?.getHeader("x-etag") ?? etagOf(bytes));
  if (from === undefined) return void response?.writeHead(200, { etag }).end(bytes);
  if (Number(from) >= bytes.length) return void refuse(response, { status: 416, code: "InvalidRange" });
  response?.writeHead(206, { etag }).end(bytes.subarray(Number(from), Number(to) + 1));
}

function list({ objects }: FakeS3, search: URLSearchParams, pageSize: number): string {
  const [prefix, delimiter] = [search.get("prefix") ?? "", search.get("delimiter") ?? ""];
  const after = search.get("continuation-token") ?? "";
  const rows = new Map<string, string>();
  for (const key of [...objects.keys()].sort()) {
    const object = objects.get(key);
    if (!key.startsWith(prefix) || object === undefined) continue;
    const cut = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    const name = cut < 0 ? key : key.slice(0, cut + 1);
    const modified = new Date(Math.floor(object.at / 1000) * 1000).toISOString();
    const contents = `<Contents><Key>${key}</Key><LastModified>${modified}</LastModified><ETag>${etagOf(object.bytes).replaceAll('"', "&quot;")}</ETag><Size>${object.bytes.length}</Size></Contents>`;
    if (name > after) rows.set(name, cut < 0 ? contents : `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`);
  }
  const names = [...rows.keys()];
  const shown = names.slice(0, pageSize);
  const isCut = names.length > shown.length;
  const next = isCut ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : "";
  const body = shown.map((name) => rows.get(name)).join("");
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${isCut}</IsTruncated>${next}${body}</ListBucketResult>`;
}

const etagOf = (bytes: Buffer): string => `"${createHash("md5").update(bytes).digest("hex")}"`;

function refuse(response: ServerResponse | undefined, { status, code }: { status: number; code: string }): void {
  response
    ?.writeHead(status, { "content-type": "application/xml" })
    .end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}
