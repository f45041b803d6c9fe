import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, codeOf, messageOf } from '../../core/errors.ts'
import { digestOf } from '../../platform/digest.ts'
import { readPrivateFile } from '../private-file.ts'

/**
 * The signed answers by which calls have run. A store can be rolled back to a point at which a call was allowed and had
 * not begun; this record lies outside of the store, so the call does not run again.
 */
export interface UsedAnswers {
  /** Whether the answer cannot let this start of its call through any more. */
  isUsed(answer: UsedAnswer): Promise<boolean>
  /** Records a start before it happens. Throws if that cannot be kept. */
  use(answer: UsedAnswer): Promise<void>
  /** Records that the call has a result: no further start is possible. */
  end(answer: Omit<UsedAnswer, 'attempt'>): Promise<void>
}

interface UsedAnswer {
  readonly sessionId: string
  /** The signature, which is another one for each answer. */
  readonly mac: string
  /** The number of the start, as the log has it: a call may start again after a suspension or a crash. */
  readonly attempt: number
}

/** Keeps the record in the user's own folder, in a file for each session; without one in memory. */
export function createUsedAnswers(home: string | undefined): UsedAnswers {
  const lines = home === undefined ? linesInMemory() : linesInFolder(join(home, folderName))
  return {
    async isUsed({ sessionId, mac, attempt }) {
      const own = (await lines.read(sessionId)).filter((line) => line.startsWith(`${mac} `))
      return own.some((line) => line === `${mac} ${ended}` || Number(line.slice(mac.length + 1)) >= attempt)
    },
    use: ({ sessionId, mac, attempt }) => lines.append(sessionId, `${mac} ${attempt}`),
    end: ({ sessionId, mac }) => lines.append(sessionId, `${mac} ${ended}`),
  }
}

/** Removes the record of sessions that are gone. */
export async function forgetUsedAnswers(home: string, sessionIds: readonly string[]): Promise<void> {
  // The record of a child is in the file of its session.
  for (const id of sessionIds) if (!id.includes('/')) await rm(fileOf(join(home, folderName), id), { force: true })
}

const folderName = 'used-answers'
const ended = 'ended'

interface Lines {
  read(sessionId: string): Promise<readonly string[]>
  append(sessionId: string, line: string): Promise<void>
}

/** A session may have any name. Its children, `name/…`, share its file. */
function fileOf(folder: string, sessionId: string): string {
  return join(folder, digestOf(sessionId.split('/')[0] ?? '').slice(0, 32))
}

function linesInMemory(): Lines {
  const used = new Map<string, string[]>()
  return {
    read: async (sessionId) => used.get(sessionId) ?? [],
    async append(sessionId, line) {
      used.set(sessionId, [...(used.get(sessionId) ?? []), line])
      const [oldest] = used.keys()
      if (used.size > mostInMemory && oldest !== undefined) used.delete(oldest)
    },
  }
}

/** Sessions; a process may serve any number of them. */
const mostInMemory = 10_000

function linesInFolder(folder: string): Lines {
  return {
    async read(sessionId) {
      const path = fileOf(folder, sessionId)
      const file = await readPrivateFile(path).catch((error) => {
        throw refused(`whether an approval was used cannot be read from ${path}`, error)
      })
      return file?.text.split('\n') ?? []
    },
    async append(sessionId, line) {
      const path = fileOf(folder, sessionId)
      try {
        await appendDurably(path, line).catch(async (error) => {
          if (codeOf(error) !== 'ENOENT') throw error
          await mkdir(folder, { recursive: true, mode: 0o700 })
          await appendDurably(path, line)
        })
      } catch (error) {
        throw refused(`the use of an approval could not be recorded in ${path}`, error)
      }
    },
  }
}

const refused = (what: string, error: unknown): CodedError =>
  new CodedError('Session/ApprovalNotRecorded', `${what}, so the call was not run: ${messageOf(error)}`)

/** The newline comes first as well: a crash may have left half a line. */
async function appendDurably(path: string, line: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.appendFile(`\n${line}\n`)
    await file.datasync()
  } finally {
    await file.close()
  }
}
