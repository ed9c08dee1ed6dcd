// The type of a command table entry, the source of command line parsing, help pages, completion and the types of values.

import type { CommandContext } from "../context.js";

/** One option. */
export interface Option {
  readonly type: "string" | "boolean";
  readonly multiple?: true;
  /** Must be given. */
  readonly required?: true;
  readonly short?: string | undefined;
  /** Words that a flag takes behind `=`; alone it means the first. */
  readonly oneOf?: readonly [string, ...string[]];
  /** Any text is a value, also one that looks like an option or a secret. */
  readonly anyText?: true | undefined;
  /** Name of the value in help. */
  readonly value?: string | undefined;
  /** A value, for who gave none. */
  readonly example?: string | undefined;
  /** Help. Absent: another option tells it. */
  readonly text?: string | undefined;
  /** Heading in help, where it is not `-s, --name VALUE`. */
  readonly heading?: string | undefined;
  /** A blank line stands before it in help. */
  readonly apart?: true;
}

export type Options = Readonly<Record<string, Option>>;

/** Values of options by name: flags are always there, lists may be empty. */
export type Values<O extends Options> = { readonly [Name in keyof O]: ValueOf<O[Name]> };

type ValueOf<O extends Option> = O extends { readonly oneOf: readonly string[] }
  ? string | undefined
  : O extends { readonly type: "boolean" }
    ? boolean
    : O extends { readonly multiple: true }
      ? readonly string[]
      : O extends { readonly required: true }
        ? string
        : string | undefined;

/** A command line, read. */
export interface Line<O extends Options> {
  readonly values: Values<O>;
  readonly words: readonly string[];
  /** Names of options in order of appearance, for those that are paired by position. */
  readonly order: readonly string[];
}

/** The facts of a command that help, completion and the parser need. */
export interface Page {
  /** Without the name of the program. */
  readonly usage: string;
  readonly text: string;
  readonly options: Options;
  /** Arguments, as many as may be given. Absent: none. */
  readonly words?: {
    readonly most: number;
    /** Names what must be there. Absent: there may be none. */
    readonly needs?: string;
    /** The words may look like a secret. */
    readonly raw?: true;
    /** A line of help. */
    readonly heading?: string;
    readonly text?: string;
  };
  /** Ends the page, before the example. */
  readonly note?: string;
  readonly example?: string | undefined;
  readonly exits: string;
  /** Problems of its configuration that are found in use are told with their places. */
  readonly locates?: true;
}

export interface CommandSpec<O extends Options> extends Page {
  readonly options: O;
  run(line: Line<O>, context: CommandContext, commands: Commands): number | Promise<number>;
}

/** A command, whatever its options. */
export interface Command extends Page {
  /** @param line of values that fit the options */
  run(line: LooseLine, context: CommandContext, commands: Commands): number | Promise<number>;
}

/** The table by names of one or two words. */
export type Commands = Readonly<Record<string, Command>>;

export type LooseValues = Record<string, string | boolean | readonly string[] | undefined>;

/** A command line whose values have no types yet. */
export interface LooseLine extends Omit<Line<Options>, "values"> {
  readonly values: LooseValues;
}

/** A command of the table; types of its values come from its options, by which the reader goes too. */
export const command = <const O extends Options>(spec: CommandSpec<O>): Command => ({
  ...spec,
  run: ({ values, words, order }, context, commands) =>
    spec.run({ values: values as Values<O>, words, order }, context, commands),
});
