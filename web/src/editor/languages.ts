// Syntax by file name; each language is loaded when a file needs it.

import { type LanguageSupport, StreamLanguage } from "@codemirror/language";
import { extensionOf } from "../files/kinds.js";
import { nameOf } from "../ui/format.js";

type Load = () => Promise<LanguageSupport | StreamLanguage<unknown>>;

const javascript =
  (options: object): Load =>
  () =>
    import("@codemirror/lang-javascript").then((own) => own.javascript(options));
const shell: Load = () =>
  import("@codemirror/legacy-modes/mode/shell").then(({ shell: mode }) => StreamLanguage.define(mode));
const clike =
  (name: "c" | "cpp" | "java" | "csharp" | "kotlin"): Load =>
  () =>
    import("@codemirror/legacy-modes/mode/clike").then((modes) => StreamLanguage.define(modes[name]));
const html: Load = () => import("@codemirror/lang-html").then((own) => own.html());
const css: Load = () => import("@codemirror/lang-css").then((own) => own.css());
const yaml: Load = () => import("@codemirror/lang-yaml").then((own) => own.yaml());
const xml: Load = () => import("@codemirror/lang-xml").then((own) => own.xml());
const markdown: Load = () => import("@codemirror/lang-markdown").then((own) => own.markdown());
const cpp = clike("cpp");
const typescript = javascript({ typescript: true });

const BY_EXTENSION: Readonly<Record<string, Load>> = {
  ...{ js: javascript({}), mjs: javascript({}), cjs: javascript({}), jsx: javascript({ jsx: true }) },
  ...{ ts: typescript, mts: typescript, cts: typescript, tsx: javascript({ typescript: true, jsx: true }) },
  json: () => import("@codemirror/lang-json").then((own) => own.json()),
  json5: javascript({}),
  py: () => import("@codemirror/lang-python").then((own) => own.python()),
  ...{
    md: markdown,
    markdown,
    html,
    htm: html,
    vue: html,
    svelte: html,
    css,
    scss: css,
    yaml,
    yml: yaml,
    xml,
    svg: xml,
  },
  ...{ sh: shell, bash: shell, zsh: shell },
  toml: () => import("@codemirror/legacy-modes/mode/toml").then(({ toml }) => StreamLanguage.define(toml)),
  rs: () => import("@codemirror/legacy-modes/mode/rust").then(({ rust }) => StreamLanguage.define(rust)),
  go: () => import("@codemirror/legacy-modes/mode/go").then(({ go }) => StreamLanguage.define(go)),
  rb: () => import("@codemirror/legacy-modes/mode/ruby").then(({ ruby }) => StreamLanguage.define(ruby)),
  sql: () => import("@codemirror/legacy-modes/mode/sql").then(({ standardSQL }) => StreamLanguage.define(standardSQL)),
  ...{
    c: clike("c"),
    h: clike("c"),
    cc: cpp,
    cpp,
    hpp: cpp,
    java: clike("java"),
    cs: clike("csharp"),
    kt: clike("kotlin"),
  },
};

/** `undefined` for a file without syntax that is known. */
export async function languageOf(path: string): Promise<LanguageSupport | StreamLanguage<unknown> | undefined> {
  const extension = extensionOf(nameOf(path));
  const load = Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
  return load?.();
}
