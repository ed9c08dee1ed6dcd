module.exports = globalThis[Symbol.for("venue-files.import")]("@modelcontextprotocol/sdk/types.js");
