import { request as httpRequest } from "node:http";

export interface JavaAnswer {
  readonly status: number;
  readonly version: string;
  readonly body: string;
}

export interface JavaRequest {
  readonly method?: "POST" | "PUT";
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
}

/** Sends requests of the JDK's HTTP client: on clear text each one, with a body or not, asks for an upgrade to HTTP/2. */
export type JavaClient = (path: string, request?: JavaRequest) => Promise<JavaAnswer>;

const UPGRADE = {
  Connection: "Upgrade, HTTP2-Settings",
  Upgrade: "h2c",
  "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
  "User-Agent": "Java-http-client/21.0.2",
};

export function javaClient(url: string): JavaClient {
  return (path, { method, body, headers } = {}) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
      const request = httpRequest(
        `${url}/api/v1/${path}`,
        { method: method ?? "GET", agent: false, headers: { ...UPGRADE, ...length, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              version: response.httpVersion,
              body: Buffer.concat(chunks).toString("utf8"),
            }),
          );
        },
      );
      request.on("upgrade", () => reject(new Error("The connection was upgraded")));
      request.on("error", reject);
      request.end(body);
    });
}
