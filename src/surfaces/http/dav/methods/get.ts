// GET and HEAD: files as a download, collections as a page for people.

import type { FastifyReply } from "fastify";
import type { TakeDownload } from "../../../../core/ports/streams.js";
import { sendFile } from "../../endpoints/file-sending.js";
import { COMMON_HEADERS } from "../../plumbing/answer.js";
import { davTag } from "../../plumbing/entity-tags.js";
import { HttpError } from "../../plumbing/http-error.js";
import { type DavCall, undefinedFor } from "../call.js";
import { encodeName } from "../target.js";
import { element, type Markup } from "../xml/write.js";

const MAX_ENTRIES = 10_000;

export async function get(call: DavCall): Promise<FastifyReply> {
  const { target, exchange } = call;
  if (target.space === "top") throw new HttpError(404, "There is nothing at this URL");
  if (target.root === undefined) return sendListing(call, (await call.names(target.space)).map(directory));
  if (!target.isSlashed && target.segments.length > 0) {
    const sent = await undefinedFor(["IS_A_DIRECTORY"], sendWhole(call));
    if (sent !== undefined) return exchange.reply;
  }
  const { entries } = await call.list(target, { limit: MAX_ENTRIES });
  return sendListing(
    call,
    entries.filter(({ unreachable }) => unreachable !== true),
  );
}

function sendWhole(call: DavCall): Promise<true> {
  const { request, reply } = call.exchange;
  return new Promise((resolve, reject) => {
    const onBegin = () => resolve(true);
    const take: TakeDownload = (file) => sendFile(file, { request, reply, onBegin, etagOf: davTag });
    call.download(call.target, take).catch(reject);
  });
}

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly modified: number;
}

const directory = (name: string): Listed => ({ name, type: "directory", size: 0, modified: Number.NaN });

function sendListing({ target, exchange }: DavCall, entries: readonly Listed[]): FastifyReply {
  const title = `/${[target.space, ...(target.root === undefined ? [] : [target.root]), ...target.segments].join("/")}/`;
  const up = target.root === undefined ? [] : [row(target.isSlashed ? "../" : "./", "..", ["", ""])];
  const rows = entries.map((entry) => rowOf(entry, target.isSlashed ? "" : `${encodeName(lastOf(title))}/`));
  const page = element("html", [
    element("head", [element("meta", "", { charset: "utf-8" }), element("title", title)]),
    element("body", [element("h1", title), element("table", [...up, ...rows])]),
  ]);
  return exchange.reply
    .code(200)
    .headers({
      ...COMMON_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    })
    .send(Buffer.from(`<!DOCTYPE html>\n${page.text}\n`));
}

/** The last name of a path that ends in a slash. */
const lastOf = (path: string): string => path.split("/").at(-2) ?? "";

/** @param base from the URL of the page to the collection */
function rowOf({ name, type, size, modified }: Listed, base: string): Markup {
  const isDirectory = type === "directory";
  const shown = isDirectory ? `${name}/` : name;
  const time = Number.isNaN(modified) ? "" : new Date(modified).toISOString().slice(0, 16).replace("T", " ");
  return row(`./${base}${encodeName(name)}${isDirectory ? "/" : ""}`, shown, [isDirectory ? "" : `${size}`, time]);
}

const row = (href: string, name: string, cells: readonly string[]): Markup =>
  element("tr", [element("td", element("a", name, { href })), ...cells.map((cell) => element("td", cell))]);
