import { type GitName, type GitRunner, hexNames, nulNames, quoteName, unquoteName } from './git-runner.ts'

/** A file in git: its mode (a file, an executable, a link), and the id of its content. */
export interface Entry {
  readonly mode: string
  readonly id: string
}

/** What is at a path now: a file, nothing, or something that a rollback leaves alone. */
export type PathState = Entry | 'nothing' | 'folder' | 'too large' | 'unreadable' | 'behind a link' | 'something else'

interface PathStatesOptions {
  readonly maxFileBytes: number
  readonly token: string
  /** Creates a time mark of this name, to recognise files that were written later. */
  readonly mark?: string
  readonly signal?: AbortSignal | undefined
}

/** Reads what is at some paths of the folder, ignored or not. Does not follow links. */
export async function readPathStates(
  git: GitRunner,
  names: readonly GitName[],
  { maxFileBytes, token, mark, signal }: PathStatesOptions,
): Promise<ReadonlyMap<GitName, PathState>> {
  if (names.length === 0) return new Map()
  const input = nulNames(names.map((name) => `./${name}`))
  const marked = mark === undefined ? '' : `: >"${markPath(mark)}"\n`
  const seen = await git.run(marked + kindsScript(maxFileBytes), { input, signal })
  const lines = seen.split('\n')
  const kinds = lines
    .filter((line) => line.startsWith('='))
    .map((line) => line.slice(1))
    .join('')
  const big = new Set(hexNames(lines.filter((line) => !line.startsWith('=')).join(' ')))
  const now = new Map<GitName, PathState>()
  const files: GitName[] = []
  for (const [i, name] of names.entries()) {
    if (big.has(name)) now.set(name, 'too large')
    else if (kinds[i] === 'f') files.push(name)
    else now.set(name, stateByLetter[kinds[i] ?? 'o'] ?? 'something else')
  }
  const lists = await git.run(entriesScript(token), {
    input: files.map((name) => `${quoteName(name)}\n`).join(''),
    signal,
  })
  const entries = new Map(lists.split('\n').filter(Boolean).map(readEntry))
  for (const name of files) now.set(name, entries.get(name) ?? 'nothing') // removed meanwhile
  return now
}

export const markPath = (mark: string): string => `$private/tmp.${mark}.looked`

const stateByLetter: Readonly<Record<string, PathState>> = {
  n: 'nothing',
  d: 'folder',
  u: 'unreadable',
  l: 'behind a link',
  o: 'something else',
}

/** Prints a letter for each path, and the names of large files. */
const kindsScript = (maxFileBytes: number): string => `
xargs -0 sh -c '
kinds=
for path; do
  above=$path kind=
  while [ "\${above%/*}" != . ]; do
    above=\${above%/*}
    if [ -L "$above" ]; then kind=l; break; fi
  done
  if [ -n "$kind" ]; then :
  elif [ -L "$path" ]; then kind=f
  elif [ -f "$path" ]; then if [ -r "$path" ]; then kind=f; else kind=u; fi
  elif [ -d "$path" ]; then kind=d
  elif [ -e "$path" ]; then kind=o
  else kind=n
  fi
  kinds=$kinds$kind
done
echo "=$kinds"
find "$@" -prune -type f -size +${maxFileBytes}c -print0 2>/dev/null | od -An -v -tx1
' sh
`

const entriesScript = (token: string): string => `
index=$private/tmp.${token}.index
rm -f "$index"
ours update-index --add --remove --replace --stdin
ours ls-files --stage
rm -f "$index"
`

/** `100644 <id> 0<tab>name` */
function readEntry(line: string): readonly [GitName, Entry] {
  const [facts = '', name = ''] = split(line, '\t')
  const [mode = '', id = ''] = facts.split(' ')
  return [unquoteName(name), { mode, id }]
}

function split(line: string, at: string): [string, string] {
  const index = line.indexOf(at)
  return [line.slice(0, index), line.slice(index + 1)]
}
