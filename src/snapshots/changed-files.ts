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
  const counted = await compare(git, changes, { token, script: 'differences --numstat' })
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
  const options = '-p --no-ext-diff --no-textconv --no-color'
  // In a file, so that bytes are counted: what is no UTF-8 is longer as a text.
  const script = `differences ${options} | head -c ${mostBytes + 1} >"$t.diff"; wc -c <"$t.diff"; cat "$t.diff"`
  const [size, ...rest] = (await compare(git, [change], { token, script })).split('\n')
  const printed = rest.join('\n')
  const isCut = Number(size) > mostBytes
  return { diff: isCut ? printed.slice(0, printed.lastIndexOf('\n') + 1) : printed, isCut }
}

/** Runs a script that prints `differences` between two trees that have nothing but the files before and after. */
function compare(
  git: GitRunner,
  changes: readonly NamedChange[],
  { token, script }: { readonly token: string; readonly script: string },
): Promise<string> {
  const entries = (['before', 'after'] as const).flatMap((side) =>
    changes.flatMap(({ name, [side]: entry }) => (entry ? [`${side} ${entryLine(name, entry)}`] : [])),
  )
  return git.run(comparison(token) + script, { input: entries.join('') })
}

const entryLine = (name: GitName, { mode, id }: Entry): string => `${mode} ${id}\t${quoteName(name)}\n`

/** No ref has the trees, so another process that prunes would remove them: it waits for the lock. */
const comparison = (token: string): string => `
setup
lock
t=$private/tmp.${token}
trap 'rm -f "$t".*; unlock' EXIT
cat >"$t.entries"
treeOf() {
  index=$t.$1.index
  sed -n "s/^$1 //p" "$t.entries" | ours update-index --index-info
  ours write-tree
}
before=$(treeOf before)
after=$(treeOf after)
differences() { ours diff-tree -r --no-renames "$@" "$before" "$after"; }
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
