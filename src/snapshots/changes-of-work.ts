import { type GitRunner, SnapshotsUnavailableError, unquoteName } from './git-runner.ts'
import type { NamedChange } from './plan-rollback.ts'
import type { Snapshot, SnapshotMeta } from './snapshot.ts'

/** A piece of work: the files before it and after it. */
export interface Work {
  readonly before: Snapshot
  readonly after: Snapshot
}

export interface ChangesOfWork {
  readonly changes: readonly NamedChange[]
  readonly before: SnapshotMeta
  readonly after: SnapshotMeta
}

/** The changes of a piece of work, and what git stores with its snapshots. */
export async function changesOf(git: GitRunner, { before, after }: Work): Promise<ChangesOfWork> {
  for (const { id, tree } of [before, after])
    if (![id, tree].every(isSnapshotId))
      throw new TypeError(`this is no snapshot: ${JSON.stringify({ id, tree }).slice(0, 200)}; use what take() gave`)
  const lines = (await git.run(changesScript(before, after))).split('\n').filter(Boolean)
  const gone = lines.find((line) => line.startsWith('//gone '))?.slice('//gone '.length)
  if (gone !== undefined)
    throw new SnapshotsUnavailableError(
      `the snapshot ${gone} of ${before.folder} is not kept here: it is too old, of another folder or machine, or of a session that was deleted, as the original of a fork that had not run yet`,
    )
  const [metaBefore, metaAfter] = lines.slice(-2).map((line): SnapshotMeta => JSON.parse(line))
  return { changes: lines.slice(0, -2).map(readChange), before: metaBefore!, after: metaAfter! }
}

/** It comes from a log, which others may have written. */
export const isSnapshotId = (id: string): boolean => /^[0-9a-f]{40}$/.test(id)

const changesScript = (before: Snapshot, after: Snapshot): string => `
setup
for one in ${before.id}=${before.tree} ${after.id}=${after.tree}; do
  tree=$(ours rev-parse --verify --quiet "\${one%=*}^{tree}" || :)
  [ "$tree" = "\${one#*=}" ] || { echo "//gone \${one%=*}"; exit 0; }
done
ours diff-tree -r --no-renames --raw --full-index ${before.tree} ${after.tree}
for one in ${before.id} ${after.id}; do ours cat-file commit $one | sed '1,/^$/d'; done
`

/** `:100644 100755 <id> <id> M<tab>name` */
function readChange(line: string): NamedChange {
  const tab = line.indexOf('\t')
  const [from = '', to = '', fromId = '', toId = ''] = line.slice(1, tab).split(' ')
  return {
    name: unquoteName(line.slice(tab + 1)),
    ...(from !== noMode && { before: { mode: from, id: fromId } }),
    ...(to !== noMode && { after: { mode: to, id: toId } }),
  }
}

const noMode = '000000'
