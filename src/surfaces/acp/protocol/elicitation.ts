// Questions of an agent to the user (`elicitation/create`), and whether an answer fits the form that was asked for.

import { type ClientApp, methods, RequestError } from "@agentclientprotocol/sdk";
import { rejectOnAbort } from "../../../core/turns.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import type { Elicit } from "../options.js";
import { answerFor } from "./errors.js";
import { type Peer, sessionOf } from "./handlers.js";

type Fields = Readonly<Record<string, unknown>>;

/** Registers the handler of `elicitation/create`. @param withUrl pages may be asked for too */
export function registerElicitation(
  app: ClientApp,
  peer: Peer,
  { elicit, withUrl }: { elicit: Elicit; withUrl: boolean },
): void {
  app.onRequest(methods.client.elicitation.create, async ({ params, signal }) => {
    const { mode, message, requestedSchema: schema, url, sessionId } = fieldsOf(params);
    const isForm = mode === "form";
    if (!isForm && !(mode === "url" && withUrl)) throw RequestError.invalidParams({ mode });
    const of = typeof sessionId === "string" ? { sessionId } : {};
    const info = { method: methods.client.elicitation.create, sessionId: "", ...of };
    const about = isForm
      ? ({ mode: "form", schema: fieldsOf(schema) } as const)
      : ({ mode: "url", url: String(url) } as const);
    try {
      if (of.sessionId !== undefined) await sessionOf(peer, of.sessionId);
      const asked = Promise.resolve(elicit({ ...about, message: String(message), ...of, signal }));
      const { action, content } = await rejectOnAbort(asked, signal);
      if (action !== "accept" || !isForm) return { action };
      return (await fitsForm(about.schema ?? {}, content))
        ? { action, content: content as Record<string, string> }
        : { action: "cancel" };
    } catch (error) {
      const { error: answer, cause } = answerFor(error, info);
      if (cause !== undefined) peer.host.log.error({ err: cause, method: info.method }, "internal error");
      throw answer;
    }
  });
}

/** Whether content is what a form asks for: each field known and as its schema says, none missing. */
export async function fitsForm({ properties, required }: Fields, content: unknown): Promise<boolean> {
  const fields = fieldsOf(properties);
  if (!isObject(content) || !listOf(required).every((name) => Object.hasOwn(content, String(name)))) return false;
  for (const [name, value] of Object.entries(content)) {
    if (!Object.hasOwn(fields, name) || !(await fits(fieldsOf(fields[name]), value))) return false;
  }
  return true;
}

async function fits(field: Fields, value: unknown): Promise<boolean> {
  switch (field["type"]) {
    case "string":
      return typeof value === "string" && isText(field, value) && (await hasPattern(field["pattern"], value));
    case "integer":
    case "number":
      return Number.isFinite(value) && isNumber(field, Number(value));
    case "boolean":
      return typeof value === "boolean";
    case "array": {
      if (!Array.isArray(value) || new Set(value).size < value.length) return false;
      const known = choicesOf(fieldsOf(field["items"]));
      const isChoice = (one: unknown): boolean => typeof one === "string" && known?.includes(one) !== false;
      return isBetween(value.length, field["minItems"], field["maxItems"]) && value.every(isChoice);
    }
    default:
      return false;
  }
}

const isNumber = ({ type, minimum, maximum }: Fields, value: number): boolean =>
  (type !== "integer" || Number.isInteger(value)) && isBetween(value, minimum, maximum);

function isText(field: Fields, value: string): boolean {
  const { minLength, maxLength, format } = field;
  const isKnown = FORMATS.get(format);
  return (
    isBetween([...value].length, minLength, maxLength) &&
    choicesOf(field)?.includes(value) !== false &&
    (isKnown === undefined || isKnown(value))
  );
}

const FORMATS: ReadonlyMap<unknown, (text: string) => boolean> = new Map([
  ["email", (text: string) => /^[^\s@]+@[^\s@]+$/.test(text)],
  ["uri", (text: string) => URL.canParse(text)],
  ["date", (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))],
  ["date-time", (text: string) => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text))],
]);

const isBetween = (value: number, least: unknown, most: unknown): boolean =>
  !(typeof least === "number" && value < least) && !(typeof most === "number" && value > most);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The values that may be chosen; `undefined`: any. */
function choicesOf({ enum: values, oneOf, anyOf }: Fields): readonly unknown[] | undefined {
  if (Array.isArray(values)) return values;
  const titled = oneOf ?? anyOf;
  return Array.isArray(titled) ? titled.map((one) => fieldsOf(one)["const"]) : undefined;
}

/** Patterns come from the agent: they are run in linear time. */
async function hasPattern(pattern: unknown, value: string): Promise<boolean> {
  if (typeof pattern !== "string") return true;
  const { RE2JS } = await import("re2js");
  try {
    return RE2JS.compile(pattern).matcher(value).find();
  } catch {
    return false;
  }
}
