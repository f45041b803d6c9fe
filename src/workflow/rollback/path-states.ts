import { type GitName, type GitRunner, hexNames, nulNames, quoteName, unquoteName } from './git-runner.ts'

/** A file as git knows it: what it is (a file, an executable one, a link), and its content. */
export interface Entry {
  readonly mode: string
  readonly id: string
}

/** What is at a path now: a file, nothing, or what a rollback cannot judge. */
export type PathState = Entry | 'nothing' | 'folder' | 'too large' | 'behind a link' | 'something else'

/** What is too large to be looked at, and a name for what only this look uses. */
interface PathStatesOptions {
  readonly maxFileBytes: number
  readonly token: string
  /** Leaves a mark of this name behind, by which it can be told what was written after the look. */
  readonly mark?: string
  readonly signal?: AbortSignal | undefined
}

/** What is at some paths of the folder now, ignored or not. Links are not followed. */
export async function readPathStates(
  place: GitRunner,
  names: readonly GitName[],
  { maxFileBytes, token, mark, signal }: PathStatesOptions,
): Promise<ReadonlyMap<GitName, PathState>> {
  if (names.length === 0) return new Map()
  const input = nulNames(names.map((name) => `./${name}`))
  const marked = mark === undefined ? '' : `: >"${markPath(mark)}"\n`
  const seen = await place.run(marked + kindsScript(maxFileBytes), { input, signal })
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
    else now.set(name, words[kinds[i] ?? 'o'] ?? 'something else')
  }
  const lists = await place.run(entriesScript(token), {
    input: files.map((name) => `${quoteName(name)}\n`).join(''),
    signal,
  })
  const entries = new Map(lists.split('\n').filter(Boolean).map(readEntry))
  for (const name of files) now.set(name, entries.get(name) ?? 'nothing') // it went away meanwhile
  return now
}

/** Of a name that is cleared away like the indexes beside it, where nobody does it at once. */
export const markPath = (mark: string): string => `$private/index.${mark}.looked`

const words: Readonly<Record<string, PathState>> = {
  n: 'nothing',
  d: 'folder',
  l: 'behind a link',
  o: 'something else',
}

/** A letter for each path; of a large file its name too. */
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
  elif [ -L "$path" ] || [ -f "$path" ]; then kind=f
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
index=$private/index.${token}
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
