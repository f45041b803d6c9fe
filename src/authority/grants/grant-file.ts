import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { PrivateFileError, readPrivateFile, stampOf } from '../private-file.ts'
import { type Grant, type GrantStore, whyInvalidGrant } from './grants.ts'

/**
 * Stores grants in one JSON file that only its owner may read or write, shared by all processes of this user. It belongs
 * into the user's own folder, where no project and no agent writes. A file that is broken, linked or open to others is
 * refused and left unchanged.
 */
export function createGrantFile(path: string): GrantStore {
  let seen: { readonly stamp: string; readonly grants: readonly Grant[] } | undefined

  async function read(): Promise<readonly Grant[]> {
    if (seen && (await stampOf(path)) === seen.stamp) return seen.grants
    seen = undefined
    const file = await readPrivateFile(path)
    if (!file) return none
    const grants = grantsIn(file.text, path)
    seen = { stamp: file.stamp, grants }
    return grants
  }

  return {
    read,
    change: (edit) =>
      withLock(`${path}.lock`, async () => {
        const before = await read()
        const grants = edit(before)
        if (grants === before) return before
        await writeFileAtomic(path, `${JSON.stringify({ version, grants }, null, 2)}\n`)
        return read()
      }),
  }
}

const version = 1
const none: readonly Grant[] = []

function grantsIn(text: string, path: string): readonly Grant[] {
  const { version: found, grants } = (parse(text) ?? {}) as { version?: unknown; grants?: unknown }
  if (found !== version) throw refused(path, `it is not a grant file of version ${version}`)
  if (!Array.isArray(grants)) throw refused(path, 'it has no list of grants')
  for (const [index, grant] of grants.entries()) {
    const flaw = whyInvalidGrant(grant)
    if (flaw !== undefined) throw refused(path, `of grants[${index}], ${flaw}`)
  }
  return grants
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refused(path: string, why: string): PrivateFileError {
  return new PrivateFileError(
    `The approvals in ${path} do not count, and the file is left as it is: ${why}; correct it, or delete it and be asked again`,
  )
}
