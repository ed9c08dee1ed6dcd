module.exports = globalThis[Symbol.for("venue-files.import")]("@modelcontextprotocol/sdk/client/stdio.js");
