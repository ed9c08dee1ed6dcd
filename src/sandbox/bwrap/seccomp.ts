// A seccomp filter in classic BPF (`linux/filter.h`, `linux/seccomp.h`) for system calls that namespaces do not
// confine.

import { SYSCALLS, type SyscallTable } from "./syscalls.js";

/** BPF opcodes: class, size or jump kind, and mode. */
const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;

/** Offsets in `seccomp_data`. Arguments have 64 bits; like the kernel, the filter uses the low 32 of an `int`. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number): number => 16 + 8 * index;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const fail = (errno: number): number => 0x00050000 | errno;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const NETLINK_ROUTE = 0;

/** One instruction (`struct sock_filter`). Jump targets are numbers of instructions to skip. */
interface Instruction {
  readonly code: number;
  readonly k: number;
  readonly ifTrue?: number;
  readonly ifFalse?: number;
}

const load = (offset: number): Instruction => ({ code: LOAD_WORD, k: offset });
const result = (value: number): Instruction => ({ code: RETURN, k: value });
/** Returns `value` if the loaded word equals `k`. */
const endIfEqual = (k: number, value: number): Instruction[] => [
  { code: JUMP_EQUAL, k, ifTrue: 0, ifFalse: 1 },
  result(value),
];

/**
 * The filter of a run, in the format of bubblewrap's `--seccomp`.
 *
 * Denied: keyrings, which no namespace separates; io_uring, which bypasses the filter; bpf, userfaultfd, perf, kexec
 * and modules; calls of other ABIs; sockets other than UNIX, IP and NETLINK_ROUTE. Everything else is allowed.
 *
 * @param architecture as in `process.arch`
 * @returns `undefined` if there is no filter for it
 */
export function syscallFilter(architecture: string): Uint8Array | undefined {
  const table = Object.hasOwn(SYSCALLS, architecture) ? SYSCALLS[architecture] : undefined;
  return table && encode([...ownAbi(table), ...calls(table)]);
}

function ownAbi({ audit, foreignFrom }: SyscallTable): Instruction[] {
  return [
    load(ARCHITECTURE),
    { code: JUMP_EQUAL, k: audit, ifTrue: 1, ifFalse: 0 },
    result(KILL_PROCESS),
    load(NUMBER),
    ...(foreignFrom === undefined
      ? []
      : [{ code: JUMP_AT_LEAST, k: foreignFrom, ifTrue: 0, ifFalse: 1 }, result(fail(ENOSYS))]),
  ];
}

function calls({ denied, socket, socketpair }: SyscallTable): Instruction[] {
  return [
    // As on a kernel built without them, which programs handle.
    ...Object.values(denied).flatMap((number) => endIfEqual(number, fail(ENOSYS))),
    { code: JUMP_EQUAL, k: socket, ifTrue: 2, ifFalse: 0 },
    { code: JUMP_EQUAL, k: socketpair, ifTrue: 1, ifFalse: 0 },
    result(ALLOW),
    load(argument(0)),
    ...[AF.unix, AF.inet, AF.inet6].flatMap((family) => endIfEqual(family, ALLOW)),
    { code: JUMP_EQUAL, k: AF.netlink, ifTrue: 1, ifFalse: 0 },
    result(fail(EAFNOSUPPORT)),
    load(argument(2)),
    ...endIfEqual(NETLINK_ROUTE, ALLOW),
    result(fail(EPROTONOSUPPORT)),
  ];
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(8 * program.length);
  // All supported architectures are little-endian.
  for (const [index, { code, k, ifTrue = 0, ifFalse = 0 }] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(ifTrue, 8 * index + 2);
    bytes.writeUInt8(ifFalse, 8 * index + 3);
    bytes.writeUInt32LE(k, 8 * index + 4);
  }
  return bytes;
}
