// The server runs in Wine and here; the client of both is here, since programs under Wine 8 connect to nothing.
import { outcomeOfTool, type Surface } from "../../parity/surfaces.js";
import type { RawAnswer } from "../../surfaces/mcp/raw.js";
import { mcpClient } from "../../surfaces/mcp/sessions.js";
import { serve } from "./process.js";

/** Tools over MCP at `/mcp`. */
export const mcpOverHttp: Surface = async (ground, calls) => {
  const served = await serve(["--config", ground.config]);
  const client = await mcpClient(served);
  const outcomes = [];
  for (const call of calls) {
    outcomes.push(
      await outcomeOfTool(call, async (name, input) => {
        const result = await client.request({ method: "tools/call", params: { name, arguments: input as object } });
        return result as unknown as NonNullable<RawAnswer["result"]>;
      }),
    );
  }
  await client.close();
  await served.stop();
  return outcomes;
};

/** A request of WebDAV or of a file's content, its answer without what differs each time. */
export interface DavRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const at = (name: string) => `/dav/work/${name}`;
const ask = (method: string, name: string, more: Partial<DavRequest> = {}): DavRequest => ({
  method,
  path: at(name),
  ...more,
});
const to = (name: string, more: Record<string, string> = {}) => ({ headers: { destination: at(name), ...more } });
const LOCK =
  '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>';
const DEPTH_1 = { headers: { depth: "1" } };

export const DAV_REQUESTS: readonly DavRequest[] = [
  { method: "OPTIONS", path: "/dav/work/" },
  { method: "PROPFIND", path: "/dav/", ...DEPTH_1 },
  ask("PROPFIND", "", DEPTH_1),
  ask("PROPFIND", "nope", DEPTH_1),
  ask("GET", "text.txt"),
  ask("HEAD", "text.txt"),
  ask("GET", "text.txt", { headers: { range: "bytes=1-3" } }),
  ask("GET", "nope"),
  ask("GET", "out/passwd"),
  ask("GET", "a%5Cb"),
  ask("GET", "..%2Foutside%2Fpasswd"),
  ask("GET", "C:/work"),
  ask("PUT", "dav.txt", { body: "one" }),
  ask("PUT", "dav.txt", { body: "two" }),
  ask("GET", "dav.txt"),
  ask("PUT", "none/x", { body: "x" }),
  ask("PUT", "out/x", { body: "x" }),
  ask("MKCOL", "folder"),
  ask("MKCOL", "folder"),
  ask("MKCOL", "none/folder"),
  ask("PUT", "folder/x.txt", { body: "x" }),
  ask("COPY", "folder", to("copied")),
  ask("COPY", "dav.txt", to("folder/dav.txt")),
  ask("COPY", "dav.txt", to("folder/dav.txt", { overwrite: "F" })),
  ask("MOVE", "folder", to("moved")),
  ask("MOVE", "dav.txt", to("text.txt")),
  ask("MOVE", "nope", to("text.txt")),
  ask("MOVE", "moved", to("moved/in")),
  ask("PROPFIND", "moved/", DEPTH_1),
  ask("PROPPATCH", "text.txt", {
    body: '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>',
  }),
  ask("LOCK", "text.txt", { body: LOCK }),
  ask("PUT", "text.txt", { body: "locked" }),
  ask("DELETE", "text.txt"),
  ask("UNLOCK", "text.txt", { headers: { "lock-token": "<urn:uuid:0>" } }),
  ask("DELETE", "moved"),
  ask("DELETE", "nope"),
  ask("DELETE", "link.txt"),
  { method: "PUT", path: "/dav/kept/a.txt", body: "x" },
  ask("PROPFIND", "", DEPTH_1),
];

/** Status and body of each answer. */
export async function davAnswers(url: string): Promise<string[]> {
  const answers: string[] = [];
  for (const { method, path, headers, body } of DAV_REQUESTS) {
    const absolute =
      headers?.["destination"] === undefined ? headers : { ...headers, destination: url + headers["destination"] };
    const request = { method, ...(absolute && { headers: absolute }), ...(body !== undefined && { body }) };
    const response = await fetch(url + path, request);
    const text = (await response.text()).replaceAll(url, "");
    answers.push(`${response.status} ${withoutTimes(text)}`);
  }
  return answers;
}

const withoutTimes = (text: string): string =>
  text
    .replaceAll(/<D:(getlastmodified|creationdate|getetag|quota-[a-z-]+)>[^<]*/g, "<D:$1>")
    .replaceAll(/urn:uuid:[0-9a-f-]+/g, "urn:uuid:")
    .replaceAll(/"requestId":"[^"]*"/g, "");
