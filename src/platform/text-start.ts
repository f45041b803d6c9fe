import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const { O_RDONLY, O_NONBLOCK = 0 } = constants

/**
 * The beginning of a text file; empty if there is none. Never hangs and reads no more than that, whatever the path is: a
 * command may have put a pipe there, or a link to a device.
 */
export function textStart(path: string, mostBytes: number): string {
  let fd: number | undefined
  try {
    fd = openSync(path, O_RDONLY | O_NONBLOCK)
    const info = fstatSync(fd)
    if (!info.isFile()) return ''
    const bytes = Buffer.alloc(Math.min(info.size, mostBytes))
    let length = 0
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, length)
    return bytes.toString('utf8', 0, length)
  } catch {
    return '' // missing, or not readable
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
