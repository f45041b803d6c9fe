import { homedir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readImageFile } from '../../platform/read-image.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { Attachment } from './attachments.ts'
import type { Key } from './key.ts'

export type AttachedImage = Extract<Attachment, { kind: 'image' }>

/**
 * The path of an image that a pasted or typed text is, and nothing else: a path as terminals paste it when a file is
 * dropped (quoted, or with backslashes before blanks), or a `file://` address.
 */
export function imagePathIn(text: string, { home = homedir() } = {}): string | undefined {
  const trimmed = text.trim()
  if (trimmed.includes('\n') || trimmed.length > longestPath) return undefined
  const path = pathOf(trimmed)
  if (path === undefined || !/\.(?:png|jpe?g|gif|webp)$/i.test(path)) return undefined
  return path.startsWith('~/') ? join(home, path.slice(2)) : path
}

/** The image that a key brings: the path of one that is pasted, or Ctrl+V for the clipboard; undefined for other keys. */
export function imageOfKey(key: Key, cwd: string): Promise<AttachedImage> | undefined {
  if (key.type === 'ctrl' && key.key === 'v') return import('./clipboard-image.ts').then((it) => it.clipboardImage())
  const path = key.type === 'text' && key.isPaste ? imagePathIn(key.text) : undefined
  return path === undefined ? undefined : attachImageFile(path, cwd)
}

/** Reads an image file for a message. Throws if it is none that models accept. */
export async function attachImageFile(path: string, cwd: string): Promise<AttachedImage> {
  const read = await readImageFile(resolve(cwd, path))
  if (!('image' in read)) throw new Error(`${visibleName(path)}${read.problem}`, { cause: read.cause })
  return { kind: 'image', name: basename(path), bytes: read.bytes, image: read.image }
}

const longestPath = 4096

function pathOf(text: string): string | undefined {
  if (text.startsWith('file://')) {
    try {
      return fileURLToPath(text)
    } catch {
      return undefined
    }
  }
  const quoted = /^(['"])(.*)\1$/.exec(text)
  if (quoted) return quoted[2]
  const isWindowsPath = /^[A-Za-z]:\\/.test(text)
  if (isWindowsPath) return text
  // A blank without a backslash before it ends a path: then this is a sentence.
  return /(?<!\\)\s/.test(text) ? undefined : text.replace(/\\(.)/g, '$1')
}
