// Parsers for the parameters of ACP requests. Each returns checked values or throws Refused.

import { isObject } from "../../../core/unknown.js";
import { invalidParams } from "./errors.js";

type Fields = Readonly<Record<string, unknown>>;

const MAX_UINT32 = 0xffff_ffff;
/** Maximum entries of a list (`args`, `env`); more would not fit on a command line. */
const MAX_LIST = 4096;

export interface CreateTerminalParams {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly cwd: string | undefined;
  /** Bytes. */
  readonly outputByteLimit: number | undefined;
}

/** `line` is 1-based; `undefined`: from the start. @throws Refused */
export function parseReadParams(fields: Fields) {
  const line = uint(fields, "line", MAX_UINT32);
  const path = text(fields, "path");
  return { path, line: line === 0 ? undefined : line, limit: uint(fields, "limit", MAX_UINT32) };
}

/** @throws Refused */
export function parseWriteParams(fields: Fields) {
  const content = text(fields, "content");
  if (!content.isWellFormed()) throw invalidParams("'content' is not well-formed Unicode");
  return { path: text(fields, "path"), content };
}

/** @throws Refused */
export const parseCreateTerminalParams = (fields: Fields): CreateTerminalParams => ({
  command: argument(fields["command"], "command", 1),
  args: list(fields, "args").map((arg) => argument(arg, "args", 0)),
  env: list(fields, "env").map((variable) => {
    if (!isObject(variable)) throw invalidParams("an object is needed");
    return { name: text(variable, "name"), value: text(variable, "value") };
  }),
  cwd: isAbsent(fields["cwd"]) ? undefined : text(fields, "cwd"),
  outputByteLimit: uint(fields, "outputByteLimit", Number.MAX_SAFE_INTEGER),
});

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

/** A parameter that is a string. @throws Refused */
export const text = (fields: Fields, name: string): string => parseText(fields[name], name);

function parseText(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalidParams(`'${name}' must be a string`);
  return value;
}

/** A string that can be passed to a process: at least `least` characters and no NUL. */
function argument(value: unknown, name: string, least: number): string {
  const given = parseText(value, name);
  if (given.length < least || given.includes("\0")) throw invalidParams(`'${name}' is not well-formed`);
  return given;
}

function uint(fields: Fields, name: string, most: number): number | undefined {
  const value = fields[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) {
    throw invalidParams(`'${name}' must be a whole number from 0 to ${most}`);
  }
  return value;
}

function list(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  if (isAbsent(value)) return [];
  if (!Array.isArray(value) || value.length > MAX_LIST) throw invalidParams(`'${name}' must be a list`);
  return value;
}
