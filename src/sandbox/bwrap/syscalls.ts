// System call numbers by architecture.

/** Numbers of the system calls in the filter, for one architecture. */
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
