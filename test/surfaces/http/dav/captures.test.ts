// What clients that we cannot run send, after captures that others have published. Statuses are those that keep them going.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type DavVenue, serveDav } from "./fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav();
});
afterAll(() => venue.close());

interface Step {
  readonly method: string;
  /** Below the folder of the client; with a leading slash from the top. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the token of the last lock in this header. */
  readonly token?: "if" | "lock-token";
  readonly as?: "nobody";
  readonly status: number;
  readonly has?: string;
}

const dav = (content: string): string => `<?xml version="1.0" encoding="utf-8"?>\n${content}`;
const lockInfo = dav(
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href>PC\\user</D:href></D:owner></D:lockinfo>',
);
const find = (...names: string[]): string =>
  dav(`<D:propfind xmlns:D="DAV:"><D:prop>${names.map((name) => `<D:${name}/>`).join("")}</D:prop></D:propfind>`);
const win32 = (...names: string[]): string =>
  dav(
    `<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>${names
      .map(
        (name) =>
          `<Z:Win32${name}>${name === "FileAttributes" ? "00000020" : "Fri, 15 Jun 2018 12:00:00 GMT"}</Z:Win32${name}>`,
      )
      .join("")}</D:prop></D:set></D:propertyupdate>`,
  );
const TIMES = ["CreationTime", "LastAccessTime", "LastModifiedTime", "FileAttributes"];
const depth = (value: string) => ({ depth: value });

const CLIENTS: Readonly<Record<string, readonly Step[]>> = {
  // github.com/pydio/pydio-core/issues/581, github.com/couling/WebDAV-Daemon/issues/18,
  // github.com/robbiehanson/CocoaHTTPServer/issues/8
  Finder: [
    { method: "OPTIONS", path: "", as: "nobody", status: 200 },
    { method: "PROPFIND", path: "", headers: depth("0"), as: "nobody", status: 401 },
    {
      ...{ method: "PROPFIND", path: "", headers: depth("0"), status: 207 },
      body: find("quota-available-bytes", "quota-used-bytes", "quota", "quotaused"),
    },
    { method: "PROPFIND", path: "._.", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: ".DS_Store", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: "file.txt", headers: depth("0"), status: 404 },
    { method: "PUT", path: "file.txt", body: "", status: 201 },
    { method: "PROPFIND", path: "._file.txt", headers: depth("0"), status: 404 },
    {
      method: "LOCK",
      path: "file.txt",
      headers: { ...depth("0"), timeout: "Second-600" },
      body: lockInfo,
      status: 200,
    },
    { method: "GET", path: "file.txt", status: 200 },
    { method: "PROPFIND", path: "file.txt", headers: depth("0"), body: find("appledoubleheader"), status: 207 },
    {
      ...{ method: "PUT", path: "file.txt", body: "hello", token: "if", status: 204 },
      headers: { "x-expected-entity-length": "5" },
    },
    { method: "UNLOCK", path: "file.txt", token: "lock-token", status: 204 },
    { method: "PUT", path: "._file.txt", body: "double", status: 201 },
    { method: "MOVE", path: "file.txt", headers: { destination: "renamed.txt", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "._file.txt", status: 204 },
    { method: "PROPFIND", path: "", headers: depth("1"), status: 207, has: "renamed.txt" },
  ],
  // github.com/mar10/wsgidav/issues/112, github.com/swisspol/GCDWebServer/issues/319,
  // github.com/dgraziotin/docker-nginx-webdav-nononsense/issues/8, github.com/nextcloud/server/pull/2986
  Windows: [
    { method: "OPTIONS", path: "/", headers: { translate: "f" }, as: "nobody", status: 200 },
    { method: "PROPFIND", path: "/", headers: depth("0"), as: "nobody", status: 401 },
    { method: "PROPFIND", path: "/", headers: { ...depth("0"), translate: "f" }, body: "", status: 207 },
    { method: "PROPFIND", path: "", headers: depth("1"), status: 207, has: "<D:collection/>" },
    { method: "PROPFIND", path: "desktop.ini", headers: depth("0"), status: 404 },
    { method: "PROPFIND", path: "compat.py", headers: depth("0"), status: 404 },
    { method: "PUT", path: "compat.py", body: "", status: 201 },
    {
      method: "LOCK",
      path: "compat.py",
      headers: { timeout: "Second-3600", translate: "f" },
      body: lockInfo,
      status: 200,
    },
    { method: "PROPPATCH", path: "compat.py", body: win32(...TIMES), token: "if", status: 207, has: "HTTP/1.1 200 OK" },
    { method: "HEAD", path: "compat.py", headers: { translate: "f" }, status: 200 },
    { method: "PUT", path: "compat.py", body: "print()", token: "if", status: 204 },
    {
      ...{ method: "PROPPATCH", path: "compat.py", token: "if", status: 207, has: "HTTP/1.1 200 OK" },
      body: win32("LastModifiedTime", "FileAttributes"),
    },
    { method: "UNLOCK", path: "compat.py", token: "lock-token", status: 204 },
    { method: "PROPFIND", path: "compat.py", headers: depth("0"), status: 207, has: "Fri, 15 Jun 2018 12:00:00 GMT" },
    { method: "MKCOL", path: "New folder", status: 201 },
    { method: "PROPPATCH", path: "New folder", body: win32(...TIMES), status: 207, has: "HTTP/1.1 200 OK" },
    { method: "MOVE", path: "New folder", headers: { destination: "Named", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "Named", status: 204 },
  ],
  // github.com/danmunn/redmine_dmsf/issues/587, the protocol notes MS-OCPROTO 2.1.2.1.2, and jsDAV's wiki on Office
  Office: [
    { method: "PUT", path: "dokument.docx", body: "one", status: 201 },
    { method: "PROPFIND", path: "dokument.docx", headers: depth("0"), status: 207 },
    { method: "OPTIONS", path: "", status: 200 },
    { method: "HEAD", path: "dokument.docx", status: 200 },
    {
      method: "LOCK",
      path: "dokument.docx",
      headers: { ...depth("0"), timeout: "Second-3600" },
      body: lockInfo,
      status: 200,
    },
    { method: "GET", path: "dokument.docx", status: 200 },
    { method: "LOCK", path: "dokument.docx", headers: { timeout: "Second-3600" }, token: "if", status: 200 },
    { method: "PUT", path: "~$kument.docx", body: "owner", status: 201 },
    { method: "PUT", path: "dokument.docx", body: "two", token: "if", status: 204 },
    { method: "HEAD", path: "dokument.docx", status: 200 },
    { method: "PUT", path: "dokument.docx", body: "three", token: "if", status: 204 },
    { method: "UNLOCK", path: "dokument.docx", token: "lock-token", status: 204 },
    { method: "DELETE", path: "~$kument.docx", status: 204 },
  ],
  // gvfs, daemon/gvfsbackenddav.c
  GNOME: [
    { method: "OPTIONS", path: "", status: 200 },
    {
      ...{ method: "PROPFIND", path: "", headers: depth("1"), status: 207 },
      body: find(
        "creationdate",
        "displayname",
        "getcontentlength",
        "getcontenttype",
        "getetag",
        "getlastmodified",
        "resourcetype",
      ),
    },
    {
      method: "PROPFIND",
      path: "",
      headers: depth("0"),
      body: find("quota-available-bytes", "quota-used-bytes"),
      status: 207,
    },
    { method: "PUT", path: "note.txt", headers: { "if-none-match": "*" }, body: "", status: 201 },
    { method: "PUT", path: "note.txt", body: "text", status: 204 },
    { method: "MOVE", path: "note.txt", headers: { destination: "note 2.txt", overwrite: "F" }, status: 201 },
    { method: "COPY", path: "note 2.txt", headers: { destination: "note.txt", overwrite: "F" }, status: 201 },
    { method: "DELETE", path: "note.txt", status: 204 },
  ],
  // github.com/laurent22/joplin/issues/4556, /4045, /3746, /2022
  Joplin: [
    { method: "GET", path: "info.json", headers: { "if-none-match": "JoplinIgnore-15789" }, status: 404 },
    { method: "MKCOL", path: "locks", status: 201 },
    { method: "MKCOL", path: "locks/", status: 405 },
    { method: "MKCOL", path: "temp/", status: 201 },
    {
      method: "PROPFIND",
      path: "locks/",
      headers: { ...depth("1"), "if-none-match": "JoplinIgnore-89981" },
      status: 207,
      body: find("getlastmodified", "resourcetype"),
    },
    {
      method: "PUT",
      path: "temp/timeCheck268903.txt",
      headers: { "if-none-match": "JoplinIgnore-94848" },
      body: "timeCheck",
      status: 201,
    },
    {
      method: "PROPFIND",
      path: "temp/timeCheck268903.txt",
      headers: depth("0"),
      status: 207,
      body: find("getlastmodified", "resourcetype"),
      has: "GMT",
    },
    { method: "DELETE", path: "temp/timeCheck268903.txt", status: 204 },
    { method: "PUT", path: "locks/sync_desktop_9b3d.json", body: '{"type":"sync"}', status: 201 },
    { method: "PUT", path: "locks/sync_desktop_9b3d.json", body: '{"type":"sync"}', status: 204 },
    { method: "PROPFIND", path: "locks", headers: depth("1"), status: 207, has: "sync_desktop_9b3d.json" },
    { method: "DELETE", path: "locks/gone.json", status: 404 },
  ],
};

describe.each(Object.entries(CLIENTS))("%s", (client, steps) => {
  test.each(["docs", "home"])("does its work in %s", async (root) => {
    const top = `/dav/${root}/${client}`;
    await venue.dav("MKCOL", top);
    const urlOf = (path: string): string => (path.startsWith("/") ? path : `${top}/${encodeURI(path)}`);
    let held = "";
    const said: string[] = [];
    for (const { method, path, headers = {}, body, token, as = "operator", status, has } of steps) {
      const { destination } = headers;
      const answer: Answer = await venue.dav(method, urlOf(path), {
        as,
        headers: {
          ...headers,
          ...(destination === undefined ? {} : { destination: `${venue.url}${urlOf(destination)}` }),
          ...(token === "if" ? { if: `(${held})` } : token === "lock-token" ? { "lock-token": held } : {}),
        },
        ...(body === undefined ? {} : { body }),
      });
      held = String(answer.headers["lock-token"] ?? held);
      said.push(`${method} ${path} ${answer.status}`);
      expect(said.at(-1)).toBe(`${method} ${path} ${status}`);
      // Drives keep their own times.
      if (has !== undefined && !(root === "home" && has.startsWith("Fri, 15"))) expect(answer.text).toContain(has);
    }
  });
});
