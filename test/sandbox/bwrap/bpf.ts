// Runs classic BPF as the kernel does for seccomp: enough of it for the filter of a run, and the kernel's own checks.

/** What the kernel tells a filter of one call: `struct seccomp_data`. */
export interface SyscallData {
  readonly number: number;
  readonly audit: number;
  readonly args?: readonly bigint[];
}

const LOAD_WORD = 0x20;
const JUMPS: Readonly<Record<number, (a: number, k: number) => boolean>> = {
  5: () => true,
  21: (a, k) => a === k,
  37: (a, k) => a > k,
  53: (a, k) => a >= k,
  69: (a, k) => (a & k) !== 0,
};
const RETURN = 0x06;
const DATA_BYTES = 64;

export function dataOf({ number, audit, args = [] }: SyscallData): Buffer {
  const data = Buffer.alloc(DATA_BYTES);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  return data;
}

/** @returns what the filter decides @throws Error for a program that the kernel would not take */
export function runFilter(program: Uint8Array, call: SyscallData): number {
  checkFilter(program);
  const bytes = Buffer.from(program);
  const data = dataOf(call);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = bytes.readUInt16LE(8 * at);
    const k = bytes.readUInt32LE(8 * at + 4);
    if (code === RETURN) return k;
    if (code === LOAD_WORD) accumulator = data.readUInt32LE(k);
    else at += bytes.readUInt8(8 * at + (JUMPS[code]?.(accumulator, k) === true ? 2 : 3));
  }
}

/** As `bpf_check_classic` and `seccomp_check_filter` of the kernel. */
export function checkFilter(program: Uint8Array): void {
  const bytes = Buffer.from(program);
  const length = bytes.length / 8;
  if (!Number.isInteger(length) || length < 1 || length > 4096) throw new Error("length");
  for (let at = 0; at < length; at++) {
    const code = bytes.readUInt16LE(8 * at);
    const k = bytes.readUInt32LE(8 * at + 4);
    const jumps = [bytes.readUInt8(8 * at + 2), bytes.readUInt8(8 * at + 3)];
    if (code in JUMPS) {
      if (jumps.some((jump) => at + 1 + jump >= length)) throw new Error(`jump at ${at}`);
    } else if (code === LOAD_WORD) {
      if (k % 4 !== 0 || k >= DATA_BYTES) throw new Error(`load at ${at}`);
    } else if (code !== RETURN) throw new Error(`code ${code} at ${at}`);
  }
  if (bytes.readUInt16LE(8 * (length - 1)) !== RETURN) throw new Error("no end");
}
