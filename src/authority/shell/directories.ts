/**
 * The directories a command may run in, relative to where the line starts; undefined when nobody knows. Several,
 * because a `cd` may fail and `;` goes on all the same.
 */
export type Directories = readonly string[] | undefined

/** More than this many and we no longer know. */
const most = 4

/** Where `cd` leads from each of them; undefined unless it names one plain place. */
export function moved(from: Directories, words: readonly string[]): Directories {
  const operands = words[1] === '--' ? words.slice(2) : words.slice(1)
  const [to = ''] = operands
  if (operands.length !== 1 || to === '' || to.startsWith('-')) return undefined
  return from && either(from.map((directory) => joined(directory, to)))
}

/** One or the other happened. */
export function either(...all: Directories[]): Directories {
  if (all.includes(undefined)) return undefined
  const union = [...new Set(all.flatMap((directories) => directories ?? []))]
  return union.length > most ? undefined : union
}

/** Whether a piece of a line could change the directory: it names what does, however spelled, or a program we cannot know. */
export function mayMove(source: string): boolean {
  const bare = source.replace(/['"\\]/g, '')
  return /(?:^|[^\w-])(?:cd|pushd|popd|eval|source|\.)(?![\w./-])/.test(bare) || unknownProgram.test(bare)
}

const unknownProgram =
  /(?:^|[;&|(){}!\n=]|(?<!\w)(?:do|then|else|elif|if|while|until|time|command|builtin)(?!\w))[ \t]*[$`]/

/** As `cd` does it: `..` takes off a name, links or not. */
function joined(directory: string, to: string): string {
  const isAbsolute = to.startsWith('/') || directory.startsWith('/')
  const parts: string[] = []
  for (const part of (to.startsWith('/') ? to : `${directory}/${to}`).split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '..' || !isAbsolute) parts.push(part)
  }
  const path = parts.join('/')
  // A folder that is called `~` is no home.
  const relative = path.startsWith('~') ? `./${path}` : path || '.'
  return isAbsolute ? `/${path}` : relative
}
