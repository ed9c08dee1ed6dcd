module.exports = globalThis[Symbol.for("venue-files.import")]("@modelcontextprotocol/sdk/client/index.js");
