/** Cuts a stream into lines without joining the pieces of a long one more than once. */
export function readLines(stream, onLine) {
  let pieces = [];
  stream.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      onLine(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
      pieces = [];
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  });
}
