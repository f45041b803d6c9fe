import { createEntriesFile } from '../../auth/entries-file.ts'
import { AgentError, codeOf } from '../../core/errors.ts'
import { isMcpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'

/** The file of logins cannot be used; its owner has to repair it. */
export class McpCredentialsError extends AgentError {}

/** Stores logins in `mcp/credentials.json` below a folder, readable only by its owner and shared by any number of processes. */
export function createFileMcpCredentialStore(directory: string): McpCredentialStore & { readonly path: string } {
  if (typeof directory !== 'string' || directory === '')
    throw new TypeError(
      'createFileMcpCredentialStore needs the path of a folder, such as the data folder of your program',
    )
  const path = process.getBuiltinModule('node:path').join(directory, 'mcp', 'credentials.json')

  const file = createEntriesFile(path, {
    title: 'The file of MCP logins',
    mostBytes,
    readText: readPrivateText,
    error: (message) => new McpCredentialsError(message),
  })
  return {
    path,
    async get(key) {
      const entry = (await file.read()).get(key)
      return isMcpCredential(entry) ? entry : undefined
    },
    async set(key, credential) {
      // One server must not fill the file, which would make it unreadable for all.
      if (JSON.stringify(credential).length > mostLetters)
        throw new McpCredentialsError(
          `The login to the MCP server "${credential.name}" is too big to be kept (more than ${mostLetters} characters); ask who runs its authorization server`,
        )
      await file.change((entries) => {
        entries.set(key, credential)
        return true
      })
    },
    delete: (key) => file.change((entries) => entries.delete(key)),
    async list() {
      return [...(await file.read()).values()].filter(isMcpCredential)
    },
    async exclusively(key, work) {
      const { withLock } = await import('../../platform/lock.ts')
      const { digestOfJson } = await import('../../platform/canonical-json.ts')
      // A renewal may wait for a slow server; other processes must wait for it and not renew themselves.
      return withLock(`${path}.${digestOfJson(key).slice(0, 16)}.lock`, work, { waitMs: 120_000 })
    },
  }
}

/** Reads a regular file that no other user can access. Checks the open file, not its path. */
async function readPrivateText(path: string): Promise<string | undefined> {
  const { constants } = process.getBuiltinModule('node:fs')
  const { open } = process.getBuiltinModule('node:fs/promises')
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const file = await open(path, flags).catch((error: unknown) => {
    const code = codeOf(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EMLINK')
      throw unusable(path, 'is a link', 'replace it by the file it leads to, or delete it and log in again')
    throw unusable(path, `cannot be opened (${code})`, 'make it yours to read, or delete it and log in again')
  })
  if (!file) return undefined
  try {
    const info = await file.stat()
    if (!info.isFile()) throw unusable(path, 'is no regular file', 'delete it and log in again')
    if (process.platform !== 'win32' && (info.mode & 0o077) !== 0)
      throw unusable(
        path,
        'can be read or changed by other users',
        `run chmod 600 ${path}, and log in again if they had time to`,
      )
    if (info.size > mostBytes) throw unusable(path, `is bigger than ${mostBytes} bytes`, 'delete it and log in again')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

const mostBytes = 8 * 1024 * 1024
const mostLetters = 256 * 1024

function unusable(path: string, what: string, remedy: string): McpCredentialsError {
  return new McpCredentialsError(`The file of MCP logins ${path} ${what}, so it is not used; ${remedy}`)
}
