/**
 * The folder of a session: its id, with everything encoded that a path could stumble over. Capital letters too, for
 * adapters over file systems that do not tell them apart. Half a character, which has no UTF-8, is kept as `%u` and its
 * number.
 */
export function folderOf(id: string): string {
  if (id === '') return '%'
  return [...id].map(encoded).join('')
}

function encoded(character: string): string {
  if (/^[a-z0-9_-]$/.test(character)) return character
  if (!character.isWellFormed()) return `%u${character.charCodeAt(0).toString(16)}`
  return Array.from(utf8.encode(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

const utf8 = new TextEncoder()

/** The id that a folder stands for; undefined for one that is none of ours. */
export function idOf(folder: string): string | undefined {
  if (folder === '%') return ''
  try {
    const id = folder
      .split(/%u([0-9a-f]{4})/)
      .map((part, i) => (i % 2 === 0 ? decodeURIComponent(part) : String.fromCharCode(Number.parseInt(part, 16))))
      .join('')
    return folderOf(id) === folder ? id : undefined
  } catch {
    return undefined
  }
}

export const turnsPath = (id: string): string => `${folderOf(id)}/turns.jsonl`
export const metaPath = (id: string): string => `${folderOf(id)}/meta.json`
export const blobPath = (id: string, name: string): string => `${folderOf(id)}/blobs/${name}`
export const indexPath = 'index.json'
