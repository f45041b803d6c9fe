import { UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'

/** More than any model reads; what never ends must end somewhere. */
const mostBytes = 16 * 1024 * 1024

/**
 * What was piped in, as text. Where nothing has come after `patienceMs` it is `undefined`: a program may have started
 * us with a pipe that it never writes to. Without a limit it waits until stdin ends.
 */
export async function readStdin(
  io: Pick<Io, 'stdin' | 'isStdinEmpty'>,
  patienceMs?: number,
): Promise<string | undefined> {
  if (io.isStdinEmpty) return undefined
  const { stdin } = io
  if (stdin.isTTY || stdin.destroyed) return undefined
  const chunks: Buffer[] = []
  let size = 0
  const ended = Promise.withResolvers<'ended' | 'nothing'>()
  const timer = patienceMs === undefined ? undefined : setTimeout(() => ended.resolve('nothing'), patienceMs)
  const onData = (chunk: Buffer | string): void => {
    clearTimeout(timer)
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    if (size <= mostBytes) return
    stdin.pause() // at once: a source that never waits would not let us
    ended.reject(new UsageError('stdin gives more than 16 MiB, which no model reads; put it into a file and name that'))
  }
  stdin.on('data', onData)
  stdin.once('end', () => ended.resolve('ended'))
  stdin.once('close', () => ended.resolve('ended'))
  stdin.once('error', ended.reject)
  try {
    await ended.promise
  } finally {
    clearTimeout(timer)
    stdin.off('data', onData)
    stdin.pause()
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return text.trim() === '' ? undefined : text
}

/** How long a pipe may stay silent that nobody said to wait for. */
const patienceMs = 1000

/**
 * The task: `--prompt`, the words, and what was piped in. Stdin is waited for where there is no task but what it says
 * (`more`: there is one), and where `-` stands among the words; or it is `taken` by something else.
 */
export async function readTask(
  given: { readonly prompt?: string | undefined; readonly words: readonly string[] },
  io: Pick<Io, 'stdin' | 'isStdinEmpty'>,
  stdin: 'task' | 'more' | 'taken' = 'task',
): Promise<string | undefined> {
  if (given.prompt !== undefined && given.words.some((word) => word !== '-'))
    throw new UsageError('the task was given twice, with --prompt and as words; give it once')
  const isAwaited = given.words.includes('-')
  const said = given.prompt ?? given.words.filter((word) => word !== '-').join(' ')
  const isNeeded = stdin === 'task' && said.trim() === ''
  const piped = stdin === 'taken' ? '' : await readStdin(io, isNeeded || isAwaited ? undefined : patienceMs)
  return (
    [said, piped ?? '']
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .join('\n\n') || undefined
  )
}
