import type { SearchContext } from './query.ts'

interface TextsRequest {
  /** The folder that the paths are relative to. */
  readonly folder: string
  readonly paths: readonly string[]
  /** Of a longer file, only so many bytes are read. */
  readonly maxBytes: number
  /** Milliseconds. */
  readonly limitMs: number
}

/**
 * Reads many files by one command, in the order of their paths: the sandbox of the command decides what can be read. `use` gets
 * undefined for a file that cannot be. Resolves to false if the time did not suffice.
 */
export async function textsByShell(
  { folder, paths, maxBytes, limitMs }: TextsRequest,
  { execution, handle, signal }: SearchContext,
  use: (path: string, text: string | undefined) => void,
): Promise<boolean> {
  if (paths.length === 0) return true
  if (limitMs <= 0) return false
  // No file can hold a text that was made just now.
  const mark = `<${crypto.randomUUID()}>`
  let read = -1
  const frames = splitter(mark, (text) => {
    const path = paths[read++]
    if (path !== undefined) use(path, text === unreadable ? undefined : text)
  })
  const ended = await execution.exec(handle, `exec xargs -0 sh -c ${readAll(maxBytes)} '${mark}'`, {
    cwd: folder,
    signal,
    timeout: limitMs,
    input: paths.join('\0'),
    onOutput(text, from) {
      if (from === 'stdout') frames.take(text)
    },
  })
  signal.throwIfAborted()
  frames.take(ended.stdout) // of contexts that do not stream output
  if (ended.timedOut) return false
  frames.end()
  for (; read < paths.length; read++) use(paths[read]!, undefined)
  return true
}

/** No text file has it: such a file would be binary. */
const unreadable = '\0\0unreadable'

const readAll = (maxBytes: number): string =>
  `'for f do printf %s "$0"; if [ -f "./$f" ] && [ ! -L "./$f" ] && [ -r "./$f" ]; then head -c ${maxBytes} "./$f"; else printf "\\0\\0unreadable"; fi; done 2>/dev/null'`

/** Gives the texts between marks. */
function splitter(mark: string, use: (text: string) => void) {
  let parts: string[] = []
  let rest = ''
  return {
    take(text: string): void {
      rest += text
      for (let at = rest.indexOf(mark); at >= 0; at = rest.indexOf(mark)) {
        use(parts.join('') + rest.slice(0, at))
        parts = []
        rest = rest.slice(at + mark.length)
      }
      // The beginning of a mark may be at the end.
      const sure = Math.max(0, rest.length - mark.length + 1)
      parts.push(rest.slice(0, sure))
      rest = rest.slice(sure)
    },
    end: () => use(parts.join('') + rest),
  }
}
