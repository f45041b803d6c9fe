import { StoreError } from '../../core/errors.ts'
import type { BlobStore } from '../../core/store.ts'
import type { AdapterFiles } from './adapter-files.ts'
import type { KeptSessions } from './kept-sessions.ts'
import { blobPath } from './session-paths.ts'
import type { createTurnTaking } from './turn-taking.ts'

export interface BlobPlace {
  readonly files: AdapterFiles
  readonly sessions: KeptSessions
  readonly alone: ReturnType<typeof createTurnTaking>
}

/** Blobs as texts in base64. The meta names them first, so that none is forgotten when the session is deleted. */
export function blobsOf(id: string, { files, sessions, alone }: BlobPlace): BlobStore {
  return {
    async put(given) {
      const bytes = new Uint8Array(given)
      const name = await nameOf(bytes)
      await alone([id], async () => {
        const kept = await sessions.of(id)
        const { blobs } = kept.meta
        if (!blobs.includes(name)) await sessions.change(kept, { blobs: [...blobs, name] })
        await files.save(blobPath(id, name), toBase64(bytes))
      })
      return name
    },

    async get(name) {
      const { meta } = await sessions.of(id)
      if (!meta.blobs.includes(name)) return undefined
      const path = blobPath(id, name)
      const text = await files.get(path)
      if (text === undefined) return undefined
      const bytes = fromBase64(text, path)
      if ((await nameOf(bytes)) === name) return bytes
      throw new StoreError('corrupt', `"${path}" is not what was put; restore it from a backup`)
    },
  }
}

async function nameOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toBase64(bytes: Uint8Array): string {
  const pieces: string[] = []
  for (let start = 0; start < bytes.length; start += 0x8000)
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + 0x8000)))
  return btoa(pieces.join(''))
}

function fromBase64(text: string, path: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch (cause) {
    throw new StoreError('corrupt', `"${path}" is no base64; restore it from a backup`, { cause })
  }
}
