// The addresses of the page and its venue, from the document.

const root = document.documentElement;

/** Path below which the page lies, with a slash at the end. */
export const base = root.dataset["base"] ?? "/workspace/";
/** Path of the venue, without a slash at the end. */
export const venuePath = base.replace(/\/workspace\/$/, "");
/** Whether unsaved text may be kept on disk. */
export const keepsDrafts = root.dataset["drafts"] !== "off";
/** The nonce of the document, which styles made by the editor need. */
export const nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";
