import { type GitName, type GitRunner, nulNames, quoteName, unquoteName } from './git-runner.ts'
import { markPath, type PathState } from './path-states.ts'
import type { NamedPlan } from './plan-rollback.ts'

/** What was found when the plan was made. */
interface ApplyOptions {
  /** The trees it goes from and to: a journal of other ones is not ours. */
  readonly trees: string
  readonly now: ReadonlyMap<GitName, PathState>
  readonly token: string
  /** Left behind by the look that found `now`. */
  readonly mark: string
}

/**
 * Does what a plan says. What is to be replaced is taken away first, and git writes only where nothing is: it follows no
 * link, and overwrites nothing that came meanwhile. Links above a path are looked for just before; that can be raced.
 */
export async function applyRollback(place: GitRunner, plan: NamedPlan, options: ApplyOptions): Promise<void> {
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
    await place.run(journalScript, { input: journal.join('\n') })
  }
  if (given.length > 0) await place.run(makeRoomScript(mark), { input: nulNames(given) })
  if (plan.restore.length > 0) {
    const lines = plan.restore.map(({ name, before }) => `${before.mode} ${before.id}\t${quoteName(name)}\n`)
    await place.run(restoreScript(token), { input: lines.join('') })
  }
}

/** The names in a journal, if it is of these trees: what a rollback that did not come to its end was about to replace. */
export function readJournal(lines: readonly string[], trees: string): ReadonlySet<GitName> {
  const [of, ...names] = lines
  return new Set(of === trees ? names.map(unquoteName) : [])
}

const journalScript = 'cat >"$private/journal.new"\nmv -f "$private/journal.new" "$private/journal"\n'

/**
 * Folders go with the last file that is removed from them. Where a file is replaced its folder stays. What was written
 * since the look is left alone: it is in no snapshot.
 */
const makeRoomScript = (mark: string): string => `
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
