/** Cuts a growing Markdown text into blocks, each of which means the same alone. Each line is looked at once. */
export interface MarkdownBlocks {
  /** The blocks of a text. All but the last one stay as they are while the text grows. */
  update(text: string): readonly string[]
}

/**
 * A block ends before an unindented line that follows a blank one outside of code. A list goes on with its next item, and
 * with what is indented below it.
 */
export function createMarkdownBlocks(): MarkdownBlocks {
  let whole = ''
  let done: string[] = []
  /** The complete lines of the open block. */
  let lines = ''
  /** The line that is not complete. */
  let rest = ''
  let fence: string | undefined
  let isAfterBlank = false
  let list: string | undefined

  const endsBefore = (line: string): boolean =>
    isAfterBlank && lines !== '' && /^\S/.test(line) && (list === undefined || listKind(line) !== list)

  const end = (): void => {
    done.push(lines)
    lines = ''
    list = undefined
  }

  const add = (line: string): void => {
    if (endsBefore(line)) end()
    if (lines === '') list = listKind(line)
    lines += line
    fence = fenceAfter(line, fence)
    isAfterBlank = fence === undefined && line.trim() === ''
  }

  const append = (more: string): void => {
    let from = 0
    for (let at = more.indexOf('\n'); at >= 0; at = more.indexOf('\n', from)) {
      add(rest + more.slice(from, at + 1))
      rest = ''
      from = at + 1
    }
    rest += more.slice(from)
    whole += more
  }

  return {
    update(text) {
      if (!text.startsWith(whole)) {
        whole = lines = rest = ''
        done = []
        fence = list = undefined
        isAfterBlank = false
      }
      append(text.slice(whole.length))
      const open = endsBefore(rest) ? [lines, rest] : [lines + rest]
      return [...done, ...open.filter((block) => block !== '')]
    },
  }
}

/** Bullets by their sign, numbers by what follows them; undefined for what is no item. */
function listKind(line: string): string | undefined {
  const [, bullet, , dot] = /^(?:([-*+])|(\d{1,9})([.)]))(?:\s|$)/.exec(line) ?? []
  return bullet ?? dot
}

/** A fence of the same sign, at least as long and alone on its line, closes a code block. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, run, after = ''] = /^[ \t>]*(`{3,}|~{3,})(.*)/s.exec(line.slice(0, 1000)) ?? []
  if (run === undefined) return open
  if (open === undefined) return run.startsWith('`') && after.includes('`') ? undefined : run
  return run.startsWith(open) && after.trim() === '' ? undefined : open
}
