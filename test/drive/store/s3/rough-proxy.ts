import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * What becomes of a request: `lost` before the server has it, `unheard` when its answer is cut off, `late` when it is cut off
 * first and reaches the server afterwards; or it is refused, or waits.
 */
export type Roughness =
  | "lost"
  | "unheard"
  | { readonly lateMs: number }
  | { readonly delayMs: number }
  | { readonly status: number };

/** Stands between a venue and an S3 server, and is no good line. */
export interface RoughProxy {
  readonly endpoint: string;
  /** What was done to requests, by kind. */
  readonly seen: Record<"lost" | "unheard" | "late" | "delayed" | "refused", number>;
  close(): Promise<void>;
}

type Choose = (method: string, path: string) => Roughness | undefined;

export async function startRoughProxy(target: string, choose: Choose): Promise<RoughProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const seen = { lost: 0, unheard: 0, late: 0, delayed: 0, refused: 0 };
  const forward = (from: IncomingMessage, body: Buffer): Promise<{ answer: IncomingMessage; content: Buffer }> =>
    new Promise((resolve, reject) => {
      const { method, url: path, rawHeaders } = from;
      const asked = request({ hostname, port: targetPort, method, path, headers: rawHeaders }, (answer) => {
        bodyOf(answer).then((content) => resolve({ answer, content }), reject);
      });
      asked.on("error", reject).end(body);
    });
  const serve = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const body = await bodyOf(from);
    const rough = choose(from.method ?? "GET", from.url ?? "/");
    if (rough === "lost") {
      seen.lost += 1;
      return void to.destroy();
    }
    if (typeof rough === "object" && "lateMs" in rough) {
      seen.late += 1;
      to.destroy();
      await delay(rough.lateMs);
      return void (await forward(from, body));
    }
    if (typeof rough === "object" && "status" in rough) {
      seen.refused += 1;
      return void to.writeHead(rough.status).end();
    }
    if (typeof rough === "object") {
      seen.delayed += 1;
      await delay(rough.delayMs);
    }
    const { answer, content } = await forward(from, body);
    if (rough === "unheard") {
      seen.unheard += 1;
      return void to.destroy();
    }
    to.writeHead(answer.statusCode ?? 500, answer.headers).end(content);
  };
  const server = createServer((from, to) => void serve(from, to).catch(() => to.destroy()));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
