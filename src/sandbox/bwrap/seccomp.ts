// A seccomp filter in classic BPF (`linux/filter.h`, `linux/seccomp.h`) for system calls that namespaces do not
// confine.

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

export interface SyscallTable {
  /** `seccomp_data.arch` (`AUDIT_ARCH_*` of `linux/audit.h`). */
  readonly audit: number;
  /** Numbers from here on belong to another ABI of the same architecture (x32). */
  readonly foreignFrom?: number;
  readonly denied: Readonly<Record<string, number>>;
  readonly socket: number;
  readonly socketpair: number;
}

/** Calls added since Linux 5.1 have the same number on all architectures. */
const UNIFIED = { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 };

/** By `process.arch`. Source: `arch/x86/entry/syscalls/syscall_64.tbl` and `asm-generic/unistd.h`. */
export const SYSCALLS: Readonly<Record<string, SyscallTable>> = {
  x64: {
    audit: 0xc000003e,
    foreignFrom: 0x40000000,
    denied: {
      ...{ add_key: 248, request_key: 249, keyctl: 250 },
      ...UNIFIED,
      ...{ bpf: 321, userfaultfd: 323, perf_event_open: 298 },
      ...{ kexec_load: 246, kexec_file_load: 320 },
      ...{ init_module: 175, finit_module: 313, delete_module: 176 },
      ...{ create_module: 174, get_kernel_syms: 177, query_module: 178 },
    },
    socket: 41,
    socketpair: 53,
  },
  arm64: {
    audit: 0xc00000b7,
    denied: {
      ...{ add_key: 217, request_key: 218, keyctl: 219 },
      ...UNIFIED,
      ...{ bpf: 280, userfaultfd: 282, perf_event_open: 241 },
      ...{ kexec_load: 104, kexec_file_load: 294 },
      ...{ init_module: 105, finit_module: 273, delete_module: 106 },
    },
    socket: 198,
    socketpair: 199,
  },
};
