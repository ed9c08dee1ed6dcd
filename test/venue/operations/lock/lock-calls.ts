// Locks of WebDAV clients, and what callers ask of them.
import { run } from "../../../surfaces/http/client.js";
import { type Answer, type DavVenue, serveDav, type Who } from "../../../surfaces/http/dav/fixture.js";

const OWNER = "<href>laptop</href> &amp; co";
const LOCK =
  `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype>` +
  `<owner>${OWNER}</owner></lockinfo>`;

export interface Outcome {
  readonly status: number;
  readonly body: {
    readonly output?: Readonly<Record<string, unknown>>;
    readonly errorCode?: string;
    readonly locks?: readonly { readonly id: string }[];
  } & Readonly<Record<string, unknown>>;
}

export interface LockGround extends DavVenue {
  lock(path: string, as?: Who): Promise<Answer>;
  run(operation: string, input?: object, as?: Exclude<Who, "nobody">): Promise<Outcome>;
}

export async function serveLocks(): Promise<LockGround> {
  const ground = await serveDav();
  return {
    ...ground,
    lock: (path, as = "alice") => ground.dav("LOCK", path, { as, body: LOCK }),
    async run(operation, input = {}, as = "operator") {
      const response = await run(ground.url, operation, input, ground.password(as));
      return { status: response.status, body: (await response.json()) as Outcome["body"] };
    },
  };
}
