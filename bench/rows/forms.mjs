import { textOf } from "../expect.mjs";

const OVER_MCP = ["ours", "theirs"];
const ALL = ["library", ...OVER_MCP, "sync", "promises", "native"];

/**
 * A row as `measure` takes it: forms with `run`, `check`, `before`, `after` and `times`.
 *
 * @param row.ours `(call, index, who)` for the library and over MCP; `call` takes an operation and its input
 * @param row.theirs the same for server-filesystem, by tool and arguments
 * @param row.sync, row.promises `(index, who)`: what node:fs does instead; `native`: a program of the system
 * @param row.mcp fields that ours has only over MCP
 * @param row.is what is right, by form: `(answer, index, who, result)`; of tools the answer is their text
 * @param row.done checks what there is afterwards, whoever made it: `(index, who)`
 * @param row.only the forms that take part; absent: those that are given
 */
export function row({ ours, theirs, sync, promises, native, mcp, is = {}, done, only = ALL, times, ...more }) {
  const { before, after, title } = more;
  const runs = {
    library: ours,
    ours: mcp === undefined ? ours : (call, ...rest) => ours((op, input) => call(op, { ...input, ...mcp }), ...rest),
    theirs,
    sync: sync && ((_, index, who) => sync(index, who)),
    promises: promises && ((_, index, who) => promises(index, who)),
    native: native && ((_, index, who) => native(index, who)),
  };
  const form = (name) => {
    const check = (result, index, who) => {
      is[name]?.(OVER_MCP.includes(name) ? textOf(result, title) : result, index, who, result);
      done?.(index, who);
    };
    return { run: runs[name], check, before, after, times: times?.[name] };
  };
  const names = ALL.filter((name) => only.includes(name) && runs[name] !== undefined);
  return { unit: "µs", ...more, forms: Object.fromEntries(names.map((name) => [name, form(name)])) };
}
