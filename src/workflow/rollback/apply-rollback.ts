import { type GitName, type GitRunner, nulNames, quoteName, unquoteName } from './git-runner.ts'
import { markPath, type PathState } from './path-states.ts'
import type { NamedPlan } from './plan-rollback.ts'

interface ApplyOptions {
  /** The trees of the rollback: a journal for other trees is ignored. */
  readonly trees: string
  readonly now: ReadonlyMap<GitName, PathState>
  readonly token: string
  /** The time mark of the reading of `now`. */
  readonly mark: string
}

/**
 * Applies a plan. Files to replace are removed first, and git writes only where there is no file: so it follows no link,
 * and overwrites nothing that was created meanwhile. Links above a path are checked just before; that can be raced.
 */
export async function applyRollback(git: GitRunner, plan: NamedPlan, options: ApplyOptions): Promise<void> {
  const { now, token, trees, mark } = options
  const given = [
    ...plan.remove.map(({ name }) => `remove ./${name}`),
    ...plan.restore.flatMap(({ name }) => {
      const there = now.get(name)
      if (there === 'folder') return [`clear ./${name}`]
      return typeof there === 'object' ? [`replace ./${name}`] : []
    }),
  ]
  if (plan.restore.length > 0) {
    const journal = [trees, ...plan.restore.map(({ name }) => quoteName(name)), '']
    await git.run(journalScript, { input: journal.join('\n') })
  }
  if (given.length > 0) await git.run(removeScript(mark), { input: nulNames(given) })
  if (plan.restore.length > 0) {
    const lines = plan.restore.map(({ name, before }) => `${before.mode} ${before.id}\t${quoteName(name)}\n`)
    await git.run(restoreScript(token), { input: lines.join('') })
  }
}

/** The names in the journal of an unfinished rollback of these trees: the files that it was about to replace. */
export function readJournal(lines: readonly string[], trees: string): ReadonlySet<GitName> {
  const [of, ...names] = lines
  return new Set(of === trees ? names.map(unquoteName) : [])
}

const journalScript = 'cat >"$private/journal.new"\nmv -f "$private/journal.new" "$private/journal"\n'

/**
 * A folder is removed with its last file, but stays if the file is replaced. A file that was written after the states were
 * read is left alone: it is in no snapshot.
 */
const removeScript = (mark: string): string => `
looked=${markPath(mark)} xargs -0 sh -c '
for given; do
  path=\${given#* }
  above=$path kind=\${given%% *}
  while [ "\${above%/*}" != . ]; do
    above=\${above%/*}
    if [ -L "$above" ]; then kind=link; break; fi
  done
  if [ ! -L "$path" ] && [ ! -d "$path" ] && [ "$path" -nt "$looked" ]; then kind=written; fi
  case $kind in
    clear) [ -L "$path" ] || find "$path" -depth -type d -exec rmdir {} \\; 2>/dev/null || : ;;
    replace) rm -f "$path" 2>/dev/null || : ;;
    remove)
      rm -f "$path" 2>/dev/null || continue
      above=\${path%/*}
      while [ "$above" != . ] && rmdir "$above" 2>/dev/null; do above=\${above%/*}; done ;;
  esac
done
' sh
rm -f "${markPath(mark)}"
`

const restoreScript = (token: string): string => `
index=$private/index.${token}
rm -f "$index"
ours update-index --index-info
if ours checkout-index --all --quiet; then rm -f "$private/journal"; fi
rm -f "$index"
`
