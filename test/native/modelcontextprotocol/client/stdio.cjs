module.exports = globalThis[Symbol.for("venue-files.import")]("@modelcontextprotocol/client/stdio");
