// Loaded first: KILLED_IN=rename:2 ends the process, as a power cut would, right before its second `rename` of a file named `….part`.
// `write` counts the writes to such a file.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [name = "", nth = "1"] = (process.env["KILLED_IN"] ?? "").split(":");
let left = Number(nth);
const step = (call, path) => {
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
