// The operating system that the program behaves for. Only this module asks Node, so that tests can simulate other systems.

let simulated: NodeJS.Platform | undefined;

export const systemName = (): NodeJS.Platform => simulated ?? process.platform;
export const isWindows = (): boolean => systemName() === "win32";
export const isLinux = (): boolean => systemName() === "linux";

/** For tests: behaves as on another system from now on. @returns puts it back */
export function simulateSystem(name: NodeJS.Platform): () => void {
  const before = simulated;
  simulated = name;
  return () => {
    simulated = before;
  };
}

/** Whether two texts may be spellings of one path of the host: those are alike where the system folds names. */
export const isSameSpelling = (one: string, other: string): boolean => folded(one) === folded(other);

function folded(path: string): string {
  if (isLinux()) return path;
  const text = path.normalize("NFC").toLowerCase();
  return isWindows() ? text.replaceAll("\\", "/") : text;
}
