// Loaded first: KILLED_IN=rename:2 ends the process, as a power cut would, right before its second `rename` of a file named `….part`.
// `write` counts the writes to such a file. FAILED_IN=rename:1:seed makes the first `rename` of a file named `…seed` fail instead.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [name = "", nth = "1"] = (process.env["KILLED_IN"] ?? "").split(":");
let left = Number(nth);
const [failing = "", failingNth = "1", ending = ""] = (process.env["FAILED_IN"] ?? "").split(":");
let leftToFail = Number(failingNth);
const step = (call, path) => {
  if (call === failing && String(path).endsWith(ending) && --leftToFail === 0)
    throw Object.assign(new Error(`EIO: i/o error, ${call}`), { code: "EIO", syscall: call });
  if (call === name && String(path).endsWith(".part") && --left === 0) process.kill(process.pid, "SIGKILL");
};
for (const call of ["open", "link", "rename", "rm"]) {
  const real = fs.promises[call];
  fs.promises[call] = async (path, ...rest) => {
    step(call, path);
    const result = await real(path, ...rest);
    if (call !== "open") return result;
    const write = result.writeFile;
    result.writeFile = (...content) => {
      step("write", path);
      return write.apply(result, content);
    };
    return result;
  };
}
syncBuiltinESMExports();
