import { UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'

/**
 * The task: `--prompt` or the words, followed by piped input. `stdin` says what stdin is for: `task` may be the only
 * task, so it is read to its end; `more` adds to a task; `taken` is not read here. `-` among the words also reads it
 * to its end.
 */
export async function readTask(
  given: { readonly prompt?: string | undefined; readonly words: readonly string[] },
  io: Pick<Io, 'stdin' | 'isStdinEmpty'>,
  stdin: 'task' | 'more' | 'taken' = 'task',
): Promise<string | undefined> {
  const words = given.words.filter((word) => word !== '-')
  if (given.prompt !== undefined && words.length > 0)
    throw new UsageError('the task was given twice, with --prompt and as words; give it once')
  const written = (given.prompt ?? words.join(' ')).trim()
  const isRequired = given.words.includes('-') || (stdin === 'task' && written === '')
  const piped = stdin === 'taken' ? undefined : await readStdin(io, isRequired ? undefined : silentPipeMs)
  return [written, piped?.trim() ?? ''].filter((text) => text !== '').join('\n\n') || undefined
}

/** How long to wait for the first byte of a pipe that need not hold anything. */
const silentPipeMs = 1000

/**
 * Piped input as text, `undefined` if it is blank. With `timeoutMs`, a pipe that stays silent for that long counts as
 * empty: the parent process may never write to it. Without, it waits until stdin ends.
 */
export async function readStdin(
  { stdin, isStdinEmpty }: Pick<Io, 'stdin' | 'isStdinEmpty'>,
  timeoutMs?: number,
): Promise<string | undefined> {
  if (isStdinEmpty || stdin.isTTY || stdin.destroyed) return undefined
  const chunks: Buffer[] = []
  let size = 0
  const ended = Promise.withResolvers<void>()
  const timer = timeoutMs === undefined ? undefined : setTimeout(ended.resolve, timeoutMs)
  const onData = (chunk: Buffer | string): void => {
    clearTimeout(timer)
    chunks.push(Buffer.from(chunk))
    size += chunk.length
    if (size <= mostBytes) return
    stdin.pause() // at once: an endless source that never yields would keep this process busy
    ended.reject(
      new UsageError('stdin gives more than 16 MiB, more than any model reads; put it into a file and name the file'),
    )
  }
  stdin.on('data', onData)
  stdin.once('end', ended.resolve)
  stdin.once('close', ended.resolve)
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

/** More than any model reads. */
const mostBytes = 16 * 1024 * 1024
