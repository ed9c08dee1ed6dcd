// What is sent to the two transports, well formed or not, in both eras.

const META = "io.modelcontextprotocol/";
const REVISION = "2026-07-28";
const CLIENT = { name: "wire", version: "1" };

export const ENVELOPE = {
  [`${META}protocolVersion`]: REVISION,
  [`${META}clientInfo`]: CLIENT,
  [`${META}clientCapabilities`]: {},
};
const { [`${META}clientInfo`]: _, ...ANONYMOUS } = ENVELOPE;

type Json = object | string | number | null;
type Headers = Readonly<Record<string, string>>;

/** A request over HTTP: what is special about it, its method, headers, and body. */
export interface HttpRequest {
  readonly name: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string;
}

const BOTH: Headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const message = (method: string, params?: unknown, more: object = {}): object => ({
  ...{ jsonrpc: "2.0", id: 1, method },
  ...(params === undefined ? {} : { params }),
  ...more,
});
const notice = (method: string, params?: unknown): object => ({
  ...{ jsonrpc: "2.0", method },
  ...(params === undefined ? {} : { params }),
});
const PING = message("ping");
const LIST = message("tools/list");
const call = (params: unknown): object => message("tools/call", params);
const ECHO = { name: "t_echo", arguments: { text: "a" } };
const initialize = (protocolVersion: unknown, more: object = {}): object =>
  message("initialize", { protocolVersion, capabilities: {}, clientInfo: CLIENT, ...more });
export const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];

/** What every revision before 2026-07-28 has, and what none has. */
const METHODS: readonly object[] = [
  PING,
  message("ping", {}),
  message("ping", { _meta: { progressToken: 1 } }),
  LIST,
  message("tools/list", { cursor: "x" }),
  message("tools/list", { cursor: 5 }),
  message("tools/list", { _meta: 5 }),
  call(ECHO),
  call({ name: "t_echo" }),
  call({ ...ECHO, _meta: {} }),
  call({ ...ECHO, _meta: { progressToken: "p", other: 1 } }),
  call({ ...ECHO, task: { ttl: 1 } }),
  call({ ...ECHO, requestState: "x", inputResponses: {} }),
  call({ ...ECHO, requestState: 5 }),
  call({ ...ECHO, inputResponses: 5 }),
  call({ ...ECHO, arguments: { fail: true } }),
  call({ ...ECHO, arguments: { text: "a", ucans: ["x"] } }),
  call({ name: "t_list" }),
  call({ name: "t_nothing", arguments: {} }),
  call({ name: "" }),
  call({}),
  call({ name: 5 }),
  call({ name: "t_echo", arguments: [] }),
  call({ name: "t_echo", arguments: null }),
  call(undefined),
  ...["resources/list", "resources/templates/list", "prompts/list", "server/discover", "nope", "", "tasks/list"].map(
    (method) => message(method),
  ),
  message("resources/read", { uri: "file:///x" }),
  message("resources/subscribe", { uri: "file:///x" }),
  message("completion/complete", { ref: { type: "ref/prompt", name: "x" }, argument: { name: "x", value: "" } }),
  message("logging/setLevel", { level: "debug" }),
  message("subscriptions/listen", { notifications: {} }),
  message("elicitation/create", { message: "x" }),
  message("roots/list"),
  initialize("2025-06-18", { capabilities: undefined }),
  initialize("2025-06-18", { clientInfo: undefined }),
  initialize("2025-06-18", { clientInfo: { name: "x" } }),
  initialize(undefined),
  initialize(5),
  message("initialize"),
  initialize("2099-01-01"),
];

/** No messages, or odd ones. */
const SHAPES: readonly Json[] = [
  ...[null, 5, "x", {}, { jsonrpc: "2.0" }],
  { jsonrpc: "1.0", id: 1, method: "ping" },
  { id: 1, method: "ping" },
  { ...PING, id: null },
  { ...PING, id: 1.5 },
  { ...PING, id: {} },
  { ...PING, id: "one" },
  { ...PING, id: -3 },
  { ...PING, method: 5 },
  message("ping", 5),
  message("ping", null),
  message("ping", []),
  message("ping", { _meta: { progressToken: {} } }),
  { ...PING, extra: 1 },
  { ...PING, result: {} },
  { jsonrpc: "2.0", id: 1, result: {} },
  { jsonrpc: "2.0", id: 1, result: 5 },
  { jsonrpc: "2.0", id: 1, result: {}, extra: 1 },
  { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } },
  { jsonrpc: "2.0", error: { code: 1, message: "x" } },
  { jsonrpc: "2.0", id: 1, error: 5 },
  notice("notifications/initialized"),
  notice("notifications/initialized", 5),
  notice("notifications/cancelled", { requestId: 7 }),
  notice("notifications/cancelled", {}),
  notice("notifications/cancelled", { requestId: {} }),
  notice("notifications/cancelled"),
  notice("notifications/progress", { progressToken: 1, progress: 1 }),
  notice("notifications/roots/list_changed"),
  notice("nope"),
];

const modern = (method: string, params: object = {}, meta: unknown = ENVELOPE): object =>
  message(method, { ...params, _meta: meta });

const MODERN_METHODS: readonly (readonly [string, object])[] = [
  ["server/discover", {}],
  ["tools/list", {}],
  ["tools/list", { cursor: "x" }],
  ["tools/list", { cursor: 5 }],
  ["tools/call", ECHO],
  ["tools/call", { name: "t_echo" }],
  ["tools/call", { ...ECHO, arguments: { fail: true } }],
  ["tools/call", { name: "t_list" }],
  ["tools/call", { name: "t_nothing" }],
  ["tools/call", { ...ECHO, arguments: [] }],
  ["tools/call", { ...ECHO, requestState: "x", inputResponses: {} }],
  ["tools/call", { ...ECHO, requestState: 5 }],
  ["tools/call", { ...ECHO, inputResponses: 5 }],
  ["tools/call", { ...ECHO, task: {} }],
  ["ping", {}],
  ["initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: CLIENT }],
  ...["prompts/list", "resources/list", "resources/templates/list", "completion/complete", "tasks/list", "nope"].map(
    (method) => [method, {}] as const,
  ),
  ["logging/setLevel", { level: "debug" }],
  ["resources/read", { uri: "venue://x" }],
  ["prompts/get", { name: "x" }],
  ["tasks/get", { taskId: "x" }],
  ["subscriptions/listen", { notifications: {} }],
  ["subscriptions/listen", { notifications: { promptsListChanged: true, resourceSubscriptions: ["x"] } }],
  ["subscriptions/listen", { notifications: { toolsListChanged: 5 } }],
  ["subscriptions/listen", { notifications: { resourceSubscriptions: [5] } }],
  ["subscriptions/listen", { notifications: 5 }],
  ["subscriptions/listen", {}],
];

/** What a client tells of itself, mostly wrong. */
const ENVELOPES: readonly unknown[] = [
  ANONYMOUS,
  { ...ENVELOPE, traceparent: "x", progressToken: 1 },
  { ...ENVELOPE, progressToken: {} },
  { ...ENVELOPE, [`${META}logLevel`]: "debug" },
  { ...ENVELOPE, [`${META}logLevel`]: "loud" },
  { ...ENVELOPE, [`${META}protocolVersion`]: 5 },
  { ...ENVELOPE, [`${META}protocolVersion`]: "2025-11-25" },
  { ...ENVELOPE, [`${META}protocolVersion`]: "2099-01-01" },
  { [`${META}protocolVersion`]: REVISION },
  { [`${META}clientCapabilities`]: {} },
  ...[5, null, []].map((capabilities) => ({ ...ENVELOPE, [`${META}clientCapabilities`]: capabilities })),
  ...[null, 5, {}, { name: "x" }, { name: 5, version: "1" }, { name: "x", version: 1 }, { ...CLIENT, title: 5 }].map(
    (info) => ({ ...ENVELOPE, [`${META}clientInfo`]: info }),
  ),
  { ...ENVELOPE, [`${META}clientInfo`]: { ...CLIENT, icons: [{ src: 5 }], websiteUrl: 5 } },
  ...[
    { roots: 5 },
    { roots: { listChanged: 5 } },
    { roots: { listChanged: true }, extra: 5 },
    { sampling: 5 },
    { sampling: { tools: {}, context: {} } },
    { sampling: { tools: 5 } },
    { elicitation: 5 },
    { elicitation: null },
    { elicitation: {} },
    { elicitation: { form: {}, url: {} } },
    { elicitation: { form: 5 } },
    { elicitation: { form: { applyDefaults: 5 } } },
    { elicitation: { url: 5 } },
    { experimental: 5 },
    { experimental: { x: 5 } },
    { experimental: { x: { y: [1, null] } } },
    { extensions: { x: 5 } },
    { tasks: 5 },
  ].map((capabilities) => ({ ...ENVELOPE, [`${META}clientCapabilities`]: capabilities })),
];

const nameOf = (headers: Headers, value: unknown): Headers =>
  typeof value === "string" ? { ...headers, "mcp-name": value } : headers;

/** Headers of a request as clients of revision 2026-07-28 send them. */
const modernHeaders = (method: string, params: Readonly<Record<string, unknown>> = {}): Headers => {
  const headers = { ...BOTH, "mcp-protocol-version": REVISION, "mcp-method": method };
  const { name, uri, taskId } = params;
  return nameOf(headers, name ?? uri ?? taskId);
};

const post = (name: string, body: unknown, headers: Headers = BOTH): HttpRequest => ({
  ...{ name, method: "POST", headers },
  body: typeof body === "string" && name.startsWith("text ") ? body : JSON.stringify(body),
});

const brief = (value: unknown): string => JSON.stringify(value)?.replaceAll(META, "") ?? "";

/** Headers beside a good request of 2026-07-28; empty ones are left out. */
const HEADER_CHANGES: readonly Headers[] = [
  { "mcp-protocol-version": "" },
  { "mcp-protocol-version": "2025-11-25" },
  { "mcp-protocol-version": "2099-01-01" },
  { "mcp-protocol-version": ` ${REVISION} ` },
  { "mcp-method": "" },
  { "mcp-method": "tools/list" },
  { "mcp-method": "\ttools/call " },
  { "mcp-name": "" },
  { "mcp-name": "t_list" },
  { "mcp-name": " t_echo\t" },
  { "mcp-name": `=?base64?${Buffer.from("t_echo").toString("base64")}?=` },
  { "mcp-name": `=?base64?${Buffer.from("t_list").toString("base64")}?=` },
  { "mcp-name": "=?base64?%%?=" },
  { "mcp-name": "=?base64?/w==?=" },
  { "mcp-name": "", "mcp-method": "", "mcp-protocol-version": "" },
  { accept: "text/html" },
  { accept: "text/event-stream" },
  { accept: "application/json" },
  { accept: "" },
  { "content-type": "text/plain" },
  { "mcp-session-id": "s", "last-event-id": "1" },
];

const changed = (headers: Headers, changes: Headers): Headers =>
  Object.fromEntries(Object.entries({ ...headers, ...changes }).filter(([, value]) => value !== ""));

function ofTransport(): HttpRequest[] {
  const types = [
    "",
    "text/plain",
    "application/json; charset=utf-8",
    "Application/JSON;",
    "application/json; a, text/plain",
  ];
  const accepts = [
    "",
    "*/*",
    "application/json",
    "text/event-stream",
    "text/html",
    "application/*;q=0.5",
    "text/event-stream, application/json;q=0",
  ];
  const versions = [...REVISIONS, REVISION, "2099-01-01", "2020-01-01", "x"];
  return [
    ...["GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS"].map((method) => ({
      ...{ name: `method ${method}`, method, headers: { accept: "text/event-stream" } },
    })),
    {
      name: "GET of a session",
      method: "GET",
      headers: { accept: "text/event-stream", "mcp-session-id": "s", "last-event-id": "1" },
    },
    {
      name: "DELETE of a session",
      method: "DELETE",
      headers: { "mcp-session-id": "s", "mcp-protocol-version": "2025-06-18" },
    },
    ...types.map((type) => post(`content-type ${type}`, LIST, changed(BOTH, { "content-type": type }))),
    ...accepts.map((accept) => post(`accept ${accept}`, PING, changed(BOTH, { accept }))),
    ...accepts.map((accept) => post(`accept ${accept} for a notification`, notice("nope"), changed(BOTH, { accept }))),
    ...versions.map((version) => post(`header ${version}`, PING, { ...BOTH, "mcp-protocol-version": version })),
    ...versions.map((version) =>
      post(`header ${version} of a call`, call(ECHO), { ...BOTH, "mcp-protocol-version": version }),
    ),
    ...versions.map((version) =>
      post(`header ${version} of a notification`, notice("nope"), { ...BOTH, "mcp-protocol-version": version }),
    ),
    ...versions.map((version) =>
      post(`header ${version} of initialize`, initialize("2025-06-18"), { ...BOTH, "mcp-protocol-version": version }),
    ),
    post("header x of a malformed initialize", initialize(5), { ...BOTH, "mcp-protocol-version": "x" }),
    post("a session", PING, { ...BOTH, "mcp-session-id": "s", "last-event-id": "1" }),
    post("Mcp-Method and Mcp-Name of others", call(ECHO), { ...BOTH, "mcp-method": "x", "mcp-name": "y" }),
    ...["", "{", "nonsense", '{"a":1'].map((text) => post(`text ${text}`, text)),
  ];
}

const ofShapes = (): HttpRequest[] => [
  ...SHAPES.map((shape) => post(`shape ${brief(shape)}`, shape)),
  ...SHAPES.slice(-12).map((shape) =>
    post(`shape ${brief(shape)} with header ${REVISION}`, shape, { ...BOTH, "mcp-protocol-version": REVISION }),
  ),
  ...[
    [],
    [5],
    [PING, { jsonrpc: "2.0" }],
    [modern("tools/list")],
    [PING, modern("tools/list")],
    [PING],
    [PING, { ...PING, id: "two" }, notice("notifications/cancelled", { requestId: 9 })],
    [notice("nope"), notice("notifications/initialized")],
    [{ jsonrpc: "2.0", id: 1, result: {} }, notice("nope")],
    [initialize("2025-06-18")],
    [initialize("2025-06-18"), { ...PING, id: 2 }],
    [initialize(5), { ...PING, id: 2 }],
  ].map((batch) => post(`batch ${brief(batch)}`, batch)),
  post(
    "batch of 101",
    Array.from({ length: 101 }, (_, id) => ({ ...PING, id })),
  ),
  post("batch with a revision that has none", [PING], { ...BOTH, "mcp-protocol-version": REVISION }),
  post("batch with an unknown revision", [PING], { ...BOTH, "mcp-protocol-version": "x" }),
];

const ofModern = (): HttpRequest[] => [
  ...MODERN_METHODS.map(([method, params]) =>
    post(`modern ${method} ${brief(params)}`, modern(method, params), modernHeaders(method, { ...params })),
  ),
  ...ENVELOPES.flatMap((envelope) => [
    post(`envelope ${brief(envelope)}`, modern("tools/call", ECHO, envelope), modernHeaders("tools/call", ECHO)),
  ]),
  ...ENVELOPES.slice(5, 8).map((envelope) =>
    post(`envelope ${brief(envelope)} without a header`, modern("tools/list", {}, envelope), BOTH),
  ),
  ...HEADER_CHANGES.map((changes) =>
    post(`modern ${brief(changes)}`, modern("tools/call", ECHO), changed(modernHeaders("tools/call", ECHO), changes)),
  ),
  ...[5, null, "x"].map((meta) =>
    post(`modern _meta ${brief(meta)}`, modern("tools/call", ECHO, meta), modernHeaders("tools/call", ECHO)),
  ),
  post("modern call without parameters", message("tools/call"), modernHeaders("tools/call")),
  post("modern call without a name", modern("tools/call"), modernHeaders("tools/call")),
  post("modern call whose name is a number", modern("tools/call", { name: 5 }), modernHeaders("tools/call")),
  post("modern call named in the header only", modern("tools/call"), modernHeaders("tools/call", ECHO)),
  post("modern list with Mcp-Name", modern("tools/list"), modernHeaders("tools/list", ECHO)),
  post(
    "initialize with an invalid envelope",
    message("initialize", { ...ENVELOPE, _meta: { [`${META}protocolVersion`]: REVISION } }),
  ),
  post("modern answer", { jsonrpc: "2.0", id: 1, result: {} }, modernHeaders("tools/list")),
  ...[ENVELOPE, { [`${META}protocolVersion`]: 5 }, { [`${META}protocolVersion`]: "2025-11-25" }].flatMap((meta) => [
    post(`modern notification ${brief(meta)}`, notice("notifications/cancelled", { requestId: 1, _meta: meta })),
    post(
      `modern notification ${brief(meta)} with headers`,
      notice("notifications/cancelled", { requestId: 1, _meta: meta }),
      modernHeaders("notifications/cancelled"),
    ),
    post(
      `modern notification ${brief(meta)} with the headers of another`,
      notice("notifications/cancelled", { requestId: 1, _meta: meta }),
      modernHeaders("nope"),
    ),
  ]),
];

export const HTTP_REQUESTS: readonly HttpRequest[] = [
  ...ofTransport(),
  ...ofShapes(),
  ...METHODS.map((one) => post(`legacy ${brief(one)}`, one)),
  ...REVISIONS.map((revision) => post(`initialize ${revision}`, initialize(revision))),
  ...ofModern(),
];

/** A connection over stdio: its messages, one after the other. */
export interface StdioScript {
  readonly name: string;
  /** The host has a root that asks users. */
  readonly asksUsers?: true;
  readonly messages: readonly unknown[];
}

const INITIALIZED = notice("notifications/initialized");
const numbered = (messages: readonly unknown[]): unknown[] =>
  messages.map((one, at) =>
    typeof one === "object" && one !== null && "id" in one && one.id === 1 ? { ...one, id: `#${at}` } : one,
  );
const PROBE = modern("server/discover");
const ASK = { name: "t_ask", arguments: { text: "a" } };
const FORMS = { ...ENVELOPE, [`${META}clientCapabilities`]: { elicitation: { form: {} } } };
const URLS = { ...ENVELOPE, [`${META}clientCapabilities`]: { elicitation: { url: {} } } };
const asking = (protocolVersion: string, elicitation: unknown): object[] => [
  initialize(protocolVersion, { capabilities: { elicitation } }),
  INITIALIZED,
];
const reply = (result: object, id = 0): object => ({ jsonrpc: "2.0", id, result });

const REPLIES: readonly object[] = [
  reply({ action: "accept", content: { allow: true } }),
  reply({ action: "accept", content: { allow: false } }),
  reply({ action: "accept" }),
  reply({ action: "accept", content: 5 }),
  reply({ action: "decline" }),
  reply({ action: "cancel" }),
  reply({ action: "nope" }),
  reply({}),
  { jsonrpc: "2.0", id: 0, error: { code: -32603, message: "no form here" } },
];

export const STDIO_SCRIPTS: readonly StdioScript[] = [
  ...REVISIONS.map((revision) => ({
    name: `initialize ${revision}`,
    messages: [initialize(revision), INITIALIZED, LIST],
  })),
  { name: "an unknown revision", messages: [initialize("2099-01-01"), PING] },
  ...["2025-06-18"].flatMap((revision) => [
    { name: `${revision}: methods`, messages: [initialize(revision), INITIALIZED, ...numbered(METHODS)] },
    { name: `${revision}: shapes`, messages: [initialize(revision), INITIALIZED, ...numbered(SHAPES), [PING], PING] },
    {
      name: `${revision}: modern`,
      messages: [initialize(revision), PROBE, modern("tools/list"), modern("tools/call", ECHO)],
    },
  ]),
  ...METHODS.slice(3, 10).map((one) => ({ name: `without a handshake: ${brief(one)}`, messages: [one, PING] })),
  { name: "begins with a notification", messages: [INITIALIZED, LIST, PROBE] },
  { name: "begins with an answer", messages: [reply({}), initialize("2025-06-18"), PING] },
  { name: "begins with nonsense", messages: [5, [], { jsonrpc: "2.0" }, PING] },
  { name: "begins with a malformed initialize", messages: [initialize(5), LIST, initialize("2025-06-18")] },
  {
    name: "begins with malformed envelopes",
    messages: [...numbered(ENVELOPES.map((envelope) => modern("ping", {}, envelope))), PING],
  },
  ...ENVELOPES.slice(5, 11).map((envelope) => ({
    name: `begins with ${brief(envelope)}`,
    messages: [modern("tools/list", {}, envelope), notice("nope", { _meta: envelope }), LIST, modern("tools/list")],
  })),
  {
    name: "modern: methods",
    messages: [modern("tools/list"), ...numbered(MODERN_METHODS.map(([method, params]) => modern(method, params)))],
  },
  {
    name: "modern: envelopes",
    messages: [modern("tools/list"), ...numbered(ENVELOPES.map((envelope) => modern("tools/call", ECHO, envelope)))],
  },
  {
    name: "modern: listen with envelopes",
    messages: [
      modern("tools/list"),
      ...numbered(
        ENVELOPES.slice(4, 11).map((envelope) => modern("subscriptions/listen", { notifications: {} }, envelope)),
      ),
    ],
  },
  { name: "modern: without envelopes", messages: [modern("tools/list"), ...numbered(METHODS)] },
  { name: "modern: shapes", messages: [modern("tools/list"), ...numbered(SHAPES), modern("tools/list")] },
  {
    name: "modern: initialize with an envelope",
    messages: [modern("initialize", { protocolVersion: "2025-06-18" }), LIST],
  },
  {
    name: "begins with listen",
    messages: [
      modern("subscriptions/listen", { notifications: { toolsListChanged: true } }),
      notice("notifications/cancelled", { requestId: 1 }),
      modern("tools/list"),
    ],
  },
  { name: "probe, then modern", messages: [PROBE, PROBE, modern("tools/list"), initialize("2025-06-18"), PROBE] },
  {
    name: "probe, then 2025",
    messages: [PROBE, initialize("2025-06-18"), INITIALIZED, LIST, PROBE, modern("tools/list")],
  },
  { name: "probe, then 2025-03-26", messages: [PROBE, initialize("2025-03-26"), INITIALIZED, LIST] },
  { name: "probe, then a call without a handshake", messages: [PROBE, call(ECHO), modern("tools/list")] },
  {
    name: "probe, then a notification",
    messages: [PROBE, notice("nope", { _meta: ENVELOPE }), initialize("2025-06-18"), PING],
  },
  { name: "probe, then an old notification", messages: [PROBE, INITIALIZED, LIST, modern("tools/list")] },
  ...["2025-06-18", "2025-03-26"].flatMap((revision) =>
    [{ form: {} }, {}, { url: {} }, 5].map((elicitation) => ({
      name: `${revision} asks with ${brief(elicitation)}`,
      asksUsers: true as const,
      messages: [...asking(revision, elicitation), { ...call(ASK), id: "c" }],
    })),
  ),
  ...REPLIES.map((answered) => ({
    name: `asks, and ${brief(answered)}`,
    asksUsers: true as const,
    messages: [...asking("2025-06-18", { form: {} }), { ...call(ASK), id: "c" }, answered, PING],
  })),
  {
    name: "asks twice",
    asksUsers: true,
    messages: [
      ...asking("2025-06-18", { form: {} }),
      { ...call(ASK), id: "c" },
      { ...call(ASK), id: "d" },
      reply({ action: "decline" }, 1),
      reply({ action: "accept", content: { allow: true } }),
      reply({ action: "accept", content: { allow: true } }),
    ],
  },
  {
    name: "asks again and again",
    asksUsers: true,
    messages: [
      ...asking("2025-06-18", { form: {} }),
      { ...call({ ...ASK, arguments: { text: "again" } }), id: "c" },
      ...Array.from({ length: 9 }, (_, id) => reply({ action: "accept", content: { allow: true } }, id)),
    ],
  },
  {
    name: "asks, and the call is cancelled",
    asksUsers: true,
    messages: [
      ...asking("2025-06-18", { form: {} }),
      { ...call(ASK), id: "c" },
      notice("notifications/cancelled", { requestId: "c", reason: "enough" }),
      reply({ action: "accept", content: { allow: true } }),
      PING,
    ],
  },
  ...[FORMS, URLS, ENVELOPE].map((envelope) => ({
    name: `modern asks with ${brief(envelope)}`,
    asksUsers: true as const,
    messages: numbered([
      modern("tools/call", ASK, envelope),
      ...[
        { approval: { action: "accept", content: { allow: true } } },
        { approval: { action: "decline" } },
        { approval: { action: "cancel" } },
        { approval: 5 },
        {},
        undefined,
      ].map((inputResponses) =>
        modern("tools/call", { ...ASK, requestState: "token", ...(inputResponses && { inputResponses }) }, envelope),
      ),
      modern(
        "tools/call",
        { ...ASK, inputResponses: { approval: { action: "accept", content: { allow: true } } } },
        envelope,
      ),
    ]),
  })),
];
