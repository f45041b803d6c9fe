import { isRecord } from '../../core/is-record.ts'
import { parsedJson } from '../../core/plain-json.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { PrivateFileError, readPrivateFile, stampOf } from '../private-file.ts'
import { type Grant, whyInvalidGrant } from './grant.ts'
import type { GrantStore } from './grants.ts'

/** Grants in a file. */
export interface GrantFile extends GrantStore {
  /**
   * The approvals of version 1, which name no project or no sandbox. They do not count, and the file keeps them.
   * `isOld`: the file was not written since.
   */
  ignored(): Promise<{ readonly grants: readonly unknown[]; readonly isOld: boolean }>
  /** Removes what is ignored. */
  forgetIgnored(): Promise<void>
}

/**
 * Stores grants in one JSON file that only its owner may read or write, shared by all processes of this user. It belongs
 * into the user's own folder, where no project and no agent writes. A file that is broken, linked or open to others is
 * refused and left unchanged.
 */
export function createGrantFile(path: string): GrantFile {
  let seen: (Content & { readonly stamp: string }) | undefined

  async function content(): Promise<Content> {
    if (seen && (await stampOf(path)) === seen.stamp) return seen
    seen = undefined
    const file = await readPrivateFile(path)
    if (!file) return nothing
    seen = { stamp: file.stamp, ...contentOf(file.text, path) }
    return seen
  }

  const write = ({ grants, ignored }: Pick<Content, 'grants' | 'ignored'>): Promise<void> =>
    writeFileAtomic(path, `${JSON.stringify({ version, grants, ...(ignored.length > 0 && { ignored }) }, null, 2)}\n`)

  return {
    read: async () => (await content()).grants,
    change: (edit) =>
      withLock(`${path}.lock`, async () => {
        const { grants: before, ignored } = await content()
        const grants = edit(before)
        if (grants === before) return before
        await write({ grants, ignored })
        return (await content()).grants
      }),
    async ignored() {
      const { ignored, isOld } = await content()
      return { grants: ignored, isOld }
    },
    forgetIgnored: () =>
      withLock(`${path}.lock`, async () => {
        const { grants, ignored } = await content()
        if (ignored.length > 0) await write({ grants, ignored: [] })
      }),
  }
}

interface Content {
  readonly grants: readonly Grant[]
  readonly ignored: readonly unknown[]
  readonly isOld: boolean
}

const version = 2
const nothing: Content = { grants: [], ignored: [], isOld: false }

function contentOf(text: string, path: string): Content {
  const content = parsedJson(text)
  const { version: found, grants, ignored = [] } = isRecord(content) ? content : {}
  const isOld = found === 1
  if (found !== version && !isOld) throw refused(path, `it is not a grant file of version ${version}`)
  if (!Array.isArray(grants) || !Array.isArray(ignored)) throw refused(path, 'it has no list of grants')
  if (isOld) return { grants: nothing.grants, ignored: grants, isOld }
  for (const [index, grant] of grants.entries()) {
    const flaw = whyInvalidGrant(grant)
    if (flaw !== undefined) throw refused(path, `of grants[${index}], ${flaw}`)
  }
  return { grants, ignored, isOld }
}

function refused(path: string, why: string): PrivateFileError {
  return new PrivateFileError(
    `The approvals in ${path} do not count, and the file is left as it is: ${why}; correct it, or delete it and be asked again`,
  )
}
