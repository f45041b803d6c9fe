/** What the index of a repository says of other repositories in its work tree. */
export interface GitLinks {
  /** Paths of work trees, relative to that of the index. */
  readonly paths: readonly string[]
  /** Whether all of it was understood. */
  readonly isWhole: boolean
}

const linkMode = 0o160000
const typeBits = 0o170000
/** Times, device, inode, mode, user, group and size, before the hash. */
const sizeOfStats = 40
const sizeOfMode = 24
const isExtended = 0x4000
/** A longer name ends at its zero. */
const mostLength = 0xfff
const mostLinks = 5_000

/** Reads the entries for other repositories (submodules) from an index of git, in any of its versions. */
export function gitLinksIn(index: Buffer, sizeOfHash: number): GitLinks {
  const paths: string[] = []
  const starts: number[] = []
  const part = { paths, isWhole: false }
  if (index.length < 12 || index.toString('latin1', 0, 4) !== 'DIRC') return part
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)]
  if (version < 2 || version > 4) return part
  /** Version 4 gives each name by its difference to the one before. */
  let before: Buffer = Buffer.alloc(0)
  let at = 12
  for (let n = 0; n < count; n++) {
    const start = at
    starts.push(start)
    const flagsAt = start + sizeOfStats + sizeOfHash
    if (flagsAt + 2 > index.length) return part
    const mode = index.readUInt32BE(start + sizeOfMode)
    at = flagsAt + (version >= 3 && index.readUInt16BE(flagsAt) & isExtended ? 4 : 2)
    const kept = version === 4 ? keptOf(index, at, before.length) : { length: 0, end: at }
    const end = kept ? index.indexOf(0, kept.end) : -1
    if (!kept || end < 0) return part
    const rest = index.subarray(kept.end, end)
    const name = version === 4 ? Buffer.concat([before.subarray(0, kept.length), rest]) : rest
    before = name
    const length = index.readUInt16BE(flagsAt) & mostLength
    if (length !== Math.min(name.length, mostLength)) return part // git would go by the length
    // A name is followed by 1 to 8 zeros, so that the length of the entry is a multiple of 8.
    at = version === 4 ? end + 1 : start + (Math.floor((end - start) / 8) + 1) * 8
    if ((mode & typeBits) !== linkMode) continue
    const path = name.toString('utf8')
    // An index in two files may leave out the name; one that is no text would lead elsewhere.
    if (path === '' || paths.length >= mostLinks || !Buffer.from(path).equals(name)) return part
    paths.push(path)
  }
  return { paths, isWhole: isReadInOrder(index, { end: at, starts, sizeOfHash }) }
}

/** Large ones tell at their end where parts of the entries begin, and git goes by that. */
function isReadInOrder(
  index: Buffer,
  { end, starts, sizeOfHash }: { end: number; starts: readonly number[]; sizeOfHash: number },
): boolean {
  const last = index.length - sizeOfHash
  const endMark = last - 12 - sizeOfHash
  if (nameAt(index, endMark) === 'EOIE' && index.readUInt32BE(endMark + 8) !== end) return false
  for (let at = end; at + 8 <= last; at += 8 + index.readUInt32BE(at + 4)) {
    if (nameAt(index, at) !== 'IEOT') continue
    const offsets = index.subarray(at + 12, at + 8 + index.readUInt32BE(at + 4))
    for (let entry = 0, block = 0; block + 8 <= offsets.length; block += 8) {
      if (offsets.readUInt32BE(block) !== starts[entry]) return false
      entry += offsets.readUInt32BE(block + 4)
    }
  }
  return true
}

const nameAt = (index: Buffer, at: number): string => (at < 0 ? '' : index.toString('latin1', at, at + 4))

/** How much of the name before is kept: git writes how much is not, in groups of 7 bits. */
function keptOf(index: Buffer, from: number, length: number): { length: number; end: number } | undefined {
  let [at, value, byte] = [from, -1, 0x80]
  while (byte & 0x80) {
    if (at >= index.length || value > length) return undefined
    byte = index[at++]!
    value = (value + 1) * 128 + (byte & 0x7f)
  }
  return value <= length ? { length: length - value, end: at } : undefined
}
