// PROPPATCH: stores properties, all or none.

import type { FastifyReply } from "fastify";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { nothingHere, sendXml } from "../errors.js";
import { evaluateConditions, requireUnlocked } from "../locks/conditions.js";
import { livePropertyOf } from "../properties/live.js";
import { childrenOf, innerText, isNamed, type XmlElement } from "../xml/read.js";
import { clark, DAV, element, type Markup, NAMESPACES, namedElement, standalone, type XmlName } from "../xml/write.js";
import { foundAt, xmlBody } from "./propfind.js";

const WIN32 = "urn:schemas-microsoft-com:";
/** By their local names in `DAV:`: the time of a file, as clients set it. */
const TIMES = ["getlastmodified", "lastmodified"];

interface Instruction {
  readonly name: XmlName;
  /** Absent: it is removed. */
  readonly node?: XmlElement;
}

/** Planned result of an instruction. */
export interface Planned {
  readonly name: XmlName;
  /** Absent: it can be done. */
  readonly refused?: { readonly status: string; readonly condition?: Markup };
  /** Time that the resource gets, in milliseconds since the epoch. */
  readonly modified?: number;
  /** A dead property; `undefined` removes. */
  readonly xml?: string | undefined;
}

export async function proppatch(call: DavCall): Promise<FastifyReply> {
  const { target, properties } = call;
  if (target.root === undefined) throw new HttpError(403, "Only what is below a root has properties to set");
  const instructions = instructionsIn(await xmlBody(call));
  const conditions = await evaluateConditions(call);
  const found = await foundAt(call, target);
  if (found === undefined) throw nothingHere();
  const isCollection = found.type === "directory";
  await requireUnlocked(call, conditions, [{ place: target, isTree: false, isMember: false }]);
  const isTimeless = isCollection && call.driveOf(target) !== undefined;
  const planned = instructions.map((instruction) => plan(instruction, isTimeless));
  const dead = deadOf(planned);
  const spot = call.spotOf(target);
  const refuse = (): Planned[] => planned.map((one) => ("xml" in one ? { ...one, refused: FULL } : one));
  let all: readonly Planned[] = properties.fits(spot, isCollection, dead) ? planned : refuse();
  let isRefused = all.some(({ refused }) => refused !== undefined);
  const modified = all.findLast((one) => one.modified !== undefined)?.modified;
  await call.run("touch", target, isRefused || modified === undefined ? {} : { modified });
  if (!isRefused) {
    let isKept = false;
    try {
      isKept = await properties.change(spot, isCollection, dead);
    } finally {
      // None or all of them are done.
      if (!isKept && modified !== undefined) await call.run("touch", target, { modified: found.modified });
    }
    if (!isKept) [all, isRefused] = [refuse(), true];
  }
  const response = element("D:response", [
    element("D:href", call.hrefOf(target, isCollection)),
    ...propstats(all, isRefused),
  ]);
  return sendXml(call.exchange.reply, 207, element("D:multistatus", response, NAMESPACES));
}

/** @throws HttpError 400 */
function instructionsIn(body: XmlElement | undefined): Instruction[] {
  if (body === undefined || !isNamed(body, DAV, "propertyupdate")) {
    throw badRequest("The body must be a DAV:propertyupdate");
  }
  const all = propertiesIn(body);
  if (all.length === 0) throw badRequest("DAV:propertyupdate names no property");
  return all;
}

/** Dead properties among what is planned, by their names in Clark notation. */
export const deadOf = (planned: readonly Planned[]): Map<string, string | undefined> =>
  new Map(planned.filter((one) => "xml" in one).map(({ name, xml }) => [clark(name), xml]));

/** Properties named by the `set` and `remove` of an element. */
export function propertiesIn(body: XmlElement): Instruction[] {
  const parts = childrenOf(body).filter((part) => isNamed(part, DAV, "set") || isNamed(part, DAV, "remove"));
  return parts.flatMap((part) =>
    childrenOf(part)
      .filter((prop) => isNamed(prop, DAV, "prop"))
      .flatMap(childrenOf)
      .map((node): Instruction => {
        const name = { namespace: node.namespace, local: node.local };
        return part.local === "set" ? { name, node } : { name };
      }),
  );
}

const PROTECTED = { status: "403 Forbidden", condition: element("D:cannot-modify-protected-property") };
const NO_TIME = { status: "409 Conflict" };
const FULL = { status: "507 Insufficient Storage" };

/** @param isTimeless its time is that of its last change: a directory of a drive */
export function plan({ name, node }: Instruction, isTimeless: boolean): Planned {
  const { namespace, local } = name;
  const isTime = namespace === DAV && TIMES.includes(local);
  const isWindowsTime = namespace === WIN32 && local === "Win32LastModifiedTime" && !isTimeless;
  if (isTime || isWindowsTime) {
    if (node === undefined || isTimeless) return { name, refused: PROTECTED };
    const modified = timeIn(innerText(node));
    return modified === undefined ? { name, refused: NO_TIME } : { name, modified };
  }
  if (namespace === DAV && livePropertyOf(local) !== undefined) return { name, refused: PROTECTED };
  return { name, xml: node === undefined ? undefined : standalone(node).text };
}

/** Seconds since 1970, or a date. */
function timeIn(text: string): number | undefined {
  const time = /^-?\d{1,12}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * 1000) : Date.parse(text);
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? undefined : time;
}

function propstats(all: readonly Planned[], isRefused: boolean): Markup[] {
  const groups = new Map<string, Planned[]>();
  for (const one of all) {
    const status = one.refused?.status ?? (isRefused ? "424 Failed Dependency" : "200 OK");
    groups.set(status, [...(groups.get(status) ?? []), one]);
  }
  return [...groups].map(([status, members]) => {
    const condition = members.find(({ refused }) => refused !== undefined)?.refused?.condition;
    return element("D:propstat", [
      element(
        "D:prop",
        members.map(({ name }) => namedElement(name)),
      ),
      element("D:status", `HTTP/1.1 ${status}`),
      ...(condition === undefined ? [] : [element("D:error", condition)]),
    ]);
  });
}
