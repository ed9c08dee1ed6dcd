// Parsers for the parameters of ACP requests. Each returns checked values or throws InvalidParams.

import { fieldsOf, isObject } from "../../../core/unknown.js";

/** A parameter does not match the protocol. */
export class InvalidParams extends Error {
  override readonly name = "InvalidParams";
}

type Fields = Readonly<Record<string, unknown>>;

const MAX_UINT32 = 0xffff_ffff;
/** Maximum entries of a list (`args`, `env`); more would not fit on a command line. */
const MAX_LIST = 4096;

export interface ReadParams {
  readonly sessionId: string;
  readonly path: string;
  /** 1-based; `undefined`: from the start. */
  readonly line: number | undefined;
  readonly limit: number | undefined;
}

export interface WriteParams {
  readonly sessionId: string;
  readonly path: string;
  readonly content: string;
}

export interface CreateTerminalParams {
  readonly sessionId: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly cwd: string | undefined;
  /** Bytes. */
  readonly outputByteLimit: number | undefined;
}

export interface TerminalParams {
  readonly sessionId: string;
  readonly terminalId: string;
}

/** @throws InvalidParams */
export function parseReadParams(params: unknown): ReadParams {
  const fields = parseFields(params);
  const line = uint(fields, "line", MAX_UINT32);
  return {
    sessionId: text(fields, "sessionId"),
    path: text(fields, "path"),
    line: line === 0 ? undefined : line,
    limit: uint(fields, "limit", MAX_UINT32),
  };
}

/** @throws InvalidParams */
export function parseWriteParams(params: unknown): WriteParams {
  const fields = parseFields(params);
  const content = text(fields, "content");
  if (!content.isWellFormed()) throw new InvalidParams("'content' is not well-formed Unicode");
  return { sessionId: text(fields, "sessionId"), path: text(fields, "path"), content };
}

/** @throws InvalidParams */
export function parseCreateTerminalParams(params: unknown): CreateTerminalParams {
  const fields = parseFields(params);
  return {
    sessionId: text(fields, "sessionId"),
    command: argument(fields["command"], "command", 1),
    args: list(fields, "args").map((arg) => argument(arg, "args", 0)),
    env: list(fields, "env").map((entry) => {
      const variable = parseFields(entry);
      return { name: text(variable, "name"), value: text(variable, "value") };
    }),
    cwd: isAbsent(fields["cwd"]) ? undefined : text(fields, "cwd"),
    outputByteLimit: uint(fields, "outputByteLimit", Number.MAX_SAFE_INTEGER),
  };
}

/** @throws InvalidParams */
export function parseTerminalParams(params: unknown): TerminalParams {
  const fields = parseFields(params);
  return { sessionId: text(fields, "sessionId"), terminalId: text(fields, "terminalId") };
}

/** The `sessionId` of a request, even if other parameters are invalid; `undefined` if it is not a string. */
export function sessionIdOf(params: unknown): string | undefined {
  const { sessionId } = fieldsOf(params);
  return typeof sessionId === "string" ? sessionId : undefined;
}

function parseFields(params: unknown): Fields {
  if (!isObject(params)) throw new InvalidParams("an object is needed");
  return params;
}

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;

const text = (fields: Fields, name: string): string => parseText(fields[name], name);

function parseText(value: unknown, name: string): string {
  if (typeof value !== "string") throw new InvalidParams(`'${name}' must be a string`);
  return value;
}

/** A string that can be passed to a process: at least `least` characters and no NUL. */
function argument(value: unknown, name: string, least: number): string {
  const given = parseText(value, name);
  if (given.length < least || given.includes("\0")) throw new InvalidParams(`'${name}' is not well-formed`);
  return given;
}

function uint(fields: Fields, name: string, most: number): number | undefined {
  const value = fields[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most) {
    throw new InvalidParams(`'${name}' must be a whole number from 0 to ${most}`);
  }
  return value;
}

function list(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  if (isAbsent(value)) return [];
  if (!Array.isArray(value) || value.length > MAX_LIST) throw new InvalidParams(`'${name}' must be a list`);
  return value;
}
