/**
 * Takes apart the one stream of a container that carries both outputs: frames of a byte for the stream (1 stdout, 2 stderr),
 * three zeros, the length in four bytes, and so many bytes. What has come of a frame is handed on at once.
 */
export function demultiplexer(
  stdout: (bytes: Buffer) => void,
  stderr: (bytes: Buffer) => void,
): (bytes: Buffer) => void {
  let header = Buffer.alloc(0)
  let write = stdout
  let left = 0
  return (bytes) => {
    let rest = bytes
    while (rest.length > 0) {
      if (left === 0) {
        const missing = headerLength - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < headerLength) return
        write = header[0] === 2 ? stderr : stdout
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const part = rest.subarray(0, left)
      left -= part.length
      rest = rest.subarray(part.length)
      write(part)
    }
  }
}

const headerLength = 8
