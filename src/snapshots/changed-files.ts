import { type GitName, type GitRunner, quoteName, shownName, unquoteName } from './git-runner.ts'
import type { Entry } from './path-states.ts'
import type { NamedChange } from './plan-rollback.ts'

/** A file that differs between two times. */
export interface ChangedFile {
  /** In the folder. */
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
  /** Lines that were added and removed; absent if it is no text. */
  readonly added?: number
  readonly removed?: number
}

/** The difference of one file, as a unified diff. */
export interface FileDiff {
  readonly diff: string
  /** The end is left out. */
  readonly isCut: boolean
}

/** The changes with their lines counted, sorted by path. */
export async function countChanges(
  git: GitRunner,
  changes: readonly NamedChange[],
  token: string,
): Promise<readonly ChangedFile[]> {
  if (changes.length === 0) return []
  const counted = await git.run(`ours diff-tree -r --no-renames --numstat ${await treesOf(git, changes, token)}\n`)
  const lines = new Map(counted.split('\n').filter(Boolean).map(readCount))
  return changes
    .map((change) => ({ path: shownName(change.name), kind: kindOf(change), ...lines.get(change.name) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The change of one file, at most so many bytes of it. */
export async function diffOf(
  git: GitRunner,
  change: NamedChange,
  { token, mostBytes }: { readonly token: string; readonly mostBytes: number },
): Promise<FileDiff> {
  const trees = await treesOf(git, [change], token)
  const options = '-r -p --no-renames --no-ext-diff --no-textconv --no-color'
  const printed = await git.run(`ours diff-tree ${options} ${trees} | head -c ${mostBytes + 1}\n`)
  const isCut = Buffer.byteLength(printed) > mostBytes
  return { diff: isCut ? printed.slice(0, printed.lastIndexOf('\n') + 1) : printed, isCut }
}

/** Trees that have nothing but the files before and after. */
async function treesOf(git: GitRunner, changes: readonly NamedChange[], token: string): Promise<string> {
  const treeOf = async (side: 'before' | 'after'): Promise<string> => {
    const entries = changes.flatMap(({ name, [side]: entry }) => (entry ? [entryLine(name, entry)] : []))
    return (await git.run(treeScript(`${token}.${side}`), { input: entries.join('') })).trim()
  }
  return `${await treeOf('before')} ${await treeOf('after')}`
}

const entryLine = (name: GitName, { mode, id }: Entry): string => `${mode} ${id}\t${quoteName(name)}\n`

const treeScript = (token: string): string => `
setup
index=$private/tmp.${token}.index
rm -f "$index"
ours update-index --index-info
ours write-tree
rm -f "$index"
`

/** `3<tab>1<tab>name`, or dashes for what is no text. */
function readCount(line: string): readonly [GitName, Pick<ChangedFile, 'added' | 'removed'>] {
  const [added = '', removed = '', ...name] = line.split('\t')
  const isText = added !== '-'
  return [unquoteName(name.join('\t')), isText ? { added: Number(added), removed: Number(removed) } : {}]
}

function kindOf({ before, after }: NamedChange): ChangedFile['kind'] {
  if (!before) return 'added'
  return after ? 'changed' : 'deleted'
}
