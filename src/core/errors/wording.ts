// Error texts that name a tool or an option: each surface says it in the words of its callers.

/** A tool (`mkdir`), option (`parents`) or other field (`oldText`) of the operations, named by the surface that shows it. */
export interface Named {
  readonly kind: "tool" | "option" | "field";
  readonly name: string;
}

/** A text in pieces. */
export type Sentence = readonly (string | Named)[];

/** How a surface names tools and options. */
export interface Wording {
  /** @param name of an operation without its adapter: `mkdir` */
  tool(name: string): string;
  /** @param name of a boolean input field: `parents` */
  option(name: string): string;
  /** @param name of any other input field: `oldText` */
  field(name: string): string;
}

/** The words of the library, of HTTP and of records: names of operations and of input fields. */
export const PLAIN_WORDING: Wording = {
  tool: (name) => `file:${name}`,
  option: (name) => `${name}: true`,
  field: (name) => name,
};

export const tool = (name: string): Named => ({ kind: "tool", name });
export const option = (name: string): Named => ({ kind: "option", name });
export const field = (name: string): Named => ({ kind: "field", name });

/** The text of a sentence in the words of a surface. */
export const phrase = (sentence: Sentence, wording: Wording): string =>
  sentence.map((part) => (typeof part === "string" ? part : wording[part.kind](part.name))).join("");

/** A number and what is counted. @param many the plural, if it is not made by an s */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
