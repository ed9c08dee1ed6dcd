import { describe, expect, test } from "@jest/globals";
import { syscallFilter } from "../../../src/sandbox/bwrap/seccomp.js";
import { checkFilter, runFilter } from "./bpf.js";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (number: number) => 0x00050000 | number;
const [ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [38, 93, 97].map(errno);

/** Written down again from the kernel's tables, so that a wrong number in the source does not agree with itself. */
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const DENIED = {
  x64: {
    ...{ create_module: 174, init_module: 175, delete_module: 176, get_kernel_syms: 177, query_module: 178 },
    ...{ kexec_load: 246, add_key: 248, request_key: 249, keyctl: 250, perf_event_open: 298, finit_module: 313 },
    ...{ kexec_file_load: 320, bpf: 321, userfaultfd: 323 },
    ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
  },
  arm64: {
    ...{ kexec_load: 104, init_module: 105, delete_module: 106, add_key: 217, request_key: 218, keyctl: 219 },
    ...{ perf_event_open: 241, finit_module: 273, bpf: 280, userfaultfd: 282, kexec_file_load: 294 },
    ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
  },
};
const SOCKET = { x64: { socket: 41, socketpair: 53 }, arm64: { socket: 198, socketpair: 199 } };
/** What `gdb` and `strace` cannot do without among them. */
const PTRACE = { x64: 101, arm64: 117 };

describe.each(["x64", "arm64"] as const)("the filter of system calls on %s", (architecture) => {
  const filter = syscallFilter(architecture) ?? new Uint8Array();
  const audit = AUDIT[architecture];
  const denied = Object.entries(DENIED[architecture]);
  const decide = (number: number, ...args: bigint[]) => runFilter(filter, { number, audit, args });

  test("is one that the kernel takes", () => {
    expect(filter.length).toBeGreaterThan(0);
    expect(() => checkFilter(filter)).not.toThrow();
  });

  test.each(denied)("denies %s", (_name, number) => {
    expect(decide(number)).toBe(ENOSYS);
  });

  test("allows every other call that there is", () => {
    const named = new Set([...denied.map(([, number]) => number), ...Object.values(SOCKET[architecture])]);
    const others = Array.from({ length: 1000 }, (_, number) => number).filter((number) => !named.has(number));
    expect(others).toContain(PTRACE[architecture]);
    expect(others.filter((number) => decide(number) !== ALLOW)).toEqual([]);
  });

  test.each(Object.entries(SOCKET[architecture]))("allows %s of UNIX, IP and NETLINK_ROUTE only", (_name, number) => {
    const NETLINK = 16n;
    for (let family = 0n; family < 64n; family++) {
      if (family === NETLINK) continue;
      expect([family, decide(number, family, 1n, 0n)]).toEqual([
        family,
        [1n, 2n, 10n].includes(family) ? ALLOW : EAFNOSUPPORT,
      ]);
    }
    expect(decide(number, NETLINK, 3n, 0n)).toBe(ALLOW);
    for (let protocol = 1n; protocol < 32n; protocol++) {
      expect([protocol, decide(number, NETLINK, 3n, protocol)]).toEqual([protocol, EPROTONOSUPPORT]);
    }
  });

  test.each(Object.values(SOCKET[architecture]))(
    "judges an int of call %i as the kernel does: by its low half",
    (number) => {
      const high = 1n << 32n;
      expect(decide(number, high | 1n, 1n, 0n)).toBe(ALLOW);
      expect(decide(number, high | 40n, 1n, 0n)).toBe(EAFNOSUPPORT);
      expect(decide(number, 40n - high, 1n, 0n)).toBe(EAFNOSUPPORT);
      expect(decide(number, high | 16n, 3n, high)).toBe(ALLOW);
      expect(decide(number, high | 16n, 3n, high | 9n)).toBe(EPROTONOSUPPORT);
    },
  );

  test("ends a process that calls as another architecture does", () => {
    for (const other of [0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0xc00000f3].filter((one) => one !== audit)) {
      for (const number of [1, 4, 41, 198]) expect(runFilter(filter, { number, audit: other })).toBe(KILL);
    }
  });
});

test("calls of x32 are not there", () => {
  const filter = syscallFilter("x64") ?? new Uint8Array();
  const x32 = 0x40000000;
  for (const number of [x32, x32 + 1, x32 + 41, x32 + 250, x32 + 512, 0xffffffff]) {
    expect(runFilter(filter, { number, audit: AUDIT.x64, args: [1n] })).toBe(ENOSYS);
  }
});

test("there is none for other architectures, whatever they are called", () => {
  for (const architecture of ["ia32", "arm", "riscv64", "ppc64", "s390x", "toString", "__proto__", ""]) {
    expect(syscallFilter(architecture)).toBeUndefined();
  }
});
