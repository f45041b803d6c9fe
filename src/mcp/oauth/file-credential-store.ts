import { AgentError, codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { isMcpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'

/** The file of logins cannot be used as it is; only its owner can mend it. */
export class McpCredentialsError extends AgentError {}

/** Logins in `mcp/credentials.json` below a folder, which only its owner may read; any number of processes may share it. */
export function createFileMcpCredentialStore(directory: string): McpCredentialStore & { readonly path: string } {
  if (typeof directory !== 'string' || directory === '')
    throw new TypeError(
      'createFileMcpCredentialStore needs the path of a folder, such as the data folder of your program',
    )
  const path = process.getBuiltinModule('node:path').join(directory, 'mcp', 'credentials.json')

  /** What this version does not know about stays in the file as it is. */
  async function change(edit: (entries: Map<string, unknown>) => boolean): Promise<boolean> {
    const { withLock } = await import('../../platform/lock.ts')
    const { writeFileAtomic } = await import('../../platform/files.ts')
    return withLock(`${path}.lock`, async () => {
      const entries = await read(path)
      if (!edit(entries)) return false
      const text = `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
      if (Buffer.byteLength(text) > mostBytes)
        throw new McpCredentialsError(
          `The file of MCP logins ${path} would be bigger than ${mostBytes} bytes, so it is left as it is; log out of servers that are not used`,
        )
      await writeFileAtomic(path, text)
      return true
    })
  }

  return {
    path,
    async get(key) {
      const entry = (await read(path)).get(key)
      return isMcpCredential(entry) ? entry : undefined
    },
    async set(key, credential) {
      // One server must not fill the file, which then could not be read for any other.
      if (JSON.stringify(credential).length > mostLetters)
        throw new McpCredentialsError(
          `The login to the MCP server "${credential.name}" is too big to be kept (more than ${mostLetters} characters); ask who runs its authorization server`,
        )
      await change((entries) => {
        entries.set(key, credential)
        return true
      })
    },
    delete: (key) => change((entries) => entries.delete(key)),
    async list() {
      return [...(await read(path)).values()].filter(isMcpCredential)
    },
    async exclusively(key, work) {
      const { withLock } = await import('../../platform/lock.ts')
      const { digestOfJson } = await import('../../platform/canonical-json.ts')
      // Whoever renews may wait for a slow server; whoever waits for that must not renew in its place.
      return withLock(`${path}.${digestOfJson(key).slice(0, 16)}.lock`, work, { waitMs: 120_000 })
    },
  }
}

/** A map, so that no key is special. */
async function read(path: string): Promise<Map<string, unknown>> {
  const text = await readPrivateText(path)
  if (text === undefined) return new Map()
  const value = parse(text)
  if (isRecord(value)) return new Map(Object.entries(value))
  throw new McpCredentialsError(
    `The file of MCP logins ${path} is not a JSON object, so it is neither used nor changed; correct it by hand, or delete it and log in again`,
  )
}

/** The text of a file that is a file, and nobody else's: judged by what is open, not by its path. */
async function readPrivateText(path: string): Promise<string | undefined> {
  const { constants } = process.getBuiltinModule('node:fs')
  const { open } = process.getBuiltinModule('node:fs/promises')
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch((error: unknown) => {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EMLINK')
      throw unfit(path, 'is a link', 'replace it by the file it leads to, or delete it and log in again')
    throw unfit(path, `cannot be opened (${code})`, 'make it yours to read, or delete it and log in again')
  })
  if (!file) return undefined
  try {
    const info = await file.stat()
    if (!info.isFile()) throw unfit(path, 'is no regular file', 'delete it and log in again')
    if (process.platform !== 'win32' && (info.mode & 0o077) !== 0)
      throw unfit(
        path,
        'can be read or changed by other users',
        `run chmod 600 ${path}, and log in again if they had time to`,
      )
    if (info.size > mostBytes) throw unfit(path, `is bigger than ${mostBytes} bytes`, 'delete it and log in again')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

const mostBytes = 8 * 1024 * 1024
const mostLetters = 256 * 1024

function unfit(path: string, what: string, remedy: string): McpCredentialsError {
  return new McpCredentialsError(`The file of MCP logins ${path} ${what}, so it is not used; ${remedy}`)
}

/** The parser's own error quotes the text, and the text is secret: it goes nowhere. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
