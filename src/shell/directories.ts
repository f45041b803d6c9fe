/**
 * The directories a command may run in, relative to the start of the line; undefined if unknown. There may be several,
 * because a `cd` may fail, and `;` continues anyway.
 */
export type Directories = readonly string[] | undefined

/** With more directories, the directory counts as unknown. */
const most = 4

/** The directories after `cd`; undefined unless it names one plain path. */
export function directoriesAfterCd(from: Directories, words: readonly string[]): Directories {
  const operands = words[1] === '--' ? words.slice(2) : words.slice(1)
  const [to = ''] = operands
  if (operands.length !== 1 || to === '' || to.startsWith('-')) return undefined
  return from && unionOf(from.map((directory) => joined(directory, to)))
}

/** The union of both possibilities. */
export function unionOf(...all: Directories[]): Directories {
  if (all.includes(undefined)) return undefined
  const union = [...new Set(all.flatMap((directories) => directories ?? []))]
  return union.length > most ? undefined : union
}

/** Whether a part of a line could change the directory: it names a command that does, or an unknown program. */
export function mayChangeDirectory(source: string): boolean {
  const bare = source.replace(/['"\\]/g, '')
  return /(?:^|[^\w-])(?:cd|pushd|popd|eval|source|\.)(?![\w./-])/.test(bare) || unknownProgram.test(bare)
}

const unknownProgram =
  /(?:^|[;&|(){}!\n=]|(?<!\w)(?:do|then|else|elif|if|while|until|time|command|builtin)(?!\w))[ \t]*[$`]/

/** Joins as `cd` does: `..` removes a name, also of a link. */
function joined(directory: string, to: string): string {
  const isAbsolute = to.startsWith('/') || directory.startsWith('/')
  const parts: string[] = []
  for (const part of (to.startsWith('/') ? to : `${directory}/${to}`).split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '..' || !isAbsolute) parts.push(part)
  }
  const path = parts.join('/')
  // A folder named `~` is not the home folder.
  const relative = path.startsWith('~') ? `./${path}` : path || '.'
  return isAbsolute ? `/${path}` : relative
}
