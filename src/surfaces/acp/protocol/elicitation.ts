// Questions of an agent to the user (`elicitation/create`), and whether an answer fits the form that was asked for.

import { type ClientApp, methods, RequestError } from "@agentclientprotocol/sdk";
import { rejectOnAbort } from "../../../core/turns.js";
import { fieldsOf } from "../../../core/unknown.js";
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
      const { error: answer, cause } = answerFor(error);
      const { create: method } = methods.client.elicitation;
      if (cause !== undefined) peer.host.log.error({ err: cause, method }, "internal error");
      throw answer;
    }
  });
}

/** Whether content is what a form asks for. Its schema comes from the agent: patterns are run in linear time. */
export async function fitsForm(schema: Fields, content: unknown): Promise<boolean> {
  const [{ Ajv }, { RE2JS }] = await Promise.all([import("ajv"), import("re2js")]);
  const patterns = (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    return { test: (text: string) => compiled.matcher(text).find() };
  };
  const regExp = Object.assign(patterns, { code: "" });
  try {
    // The protocol has `null` for what is absent.
    const plain = JSON.parse(JSON.stringify(schema), (_, value) => value ?? undefined);
    const form = new Ajv({ strict: false, strictNumbers: true, validateFormats: false, code: { regExp } });
    return form.compile({ ...plain, type: "object", additionalProperties: false })(content) === true;
  } catch {
    return false;
  }
}
