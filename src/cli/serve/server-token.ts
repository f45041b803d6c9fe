import { randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'

export interface ServerToken {
  readonly token: string
  /** What a person is told about it. */
  readonly notice: string
}

const shortest = 32

/** The token that clients need: that of the environment, else the one in the user's folder, which is made at the first start. */
export async function serverToken(io: Pick<Io, 'env' | 'home' | 'stderr'>): Promise<ServerToken> {
  const given = io.env.LIBERO_SERVER_TOKEN
  if (given === undefined || given === '') return keptToken(io)
  if (given.length < shortest)
    throw new CliError(`LIBERO_SERVER_TOKEN is too short: use at least ${shortest} characters, or unset it`)
  if (!/^[\x21-\x7e]+$/.test(given))
    throw new CliError('LIBERO_SERVER_TOKEN may have visible ASCII characters only: a client could not send it')
  // Commands of agents get the environment of this process: with the token they could answer their own approvals.
  delete (io.env as Record<string, string | undefined>).LIBERO_SERVER_TOKEN
  return { token: given, notice: 'clients need the token of LIBERO_SERVER_TOKEN' }
}

async function keptToken({ home, stderr }: Pick<Io, 'home' | 'stderr'>): Promise<ServerToken> {
  const path = join(home, 'server-token')
  // Two servers that start at once must not make one each.
  const token = await withLock(`${path}.lock`, async () => {
    const kept = (await readTextIfThere(path))?.trim() ?? ''
    if (kept.length >= shortest) {
      await chmod(path, 0o600) // it may have been copied, with rights for others
      return kept
    }
    if (kept !== '')
      throw new CliError(`${visibleName(path)} holds no token of this program; delete it, and a new one is made`)
    const made = randomBytes(32).toString('base64url')
    await writeFileAtomic(path, `${made}\n`)
    return made
  })
  const shown = stderr.isTTY ? `: ${token}` : ''
  return { token, notice: `clients need the token in ${visibleName(path)}${shown}` }
}
