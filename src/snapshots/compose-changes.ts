import type { GitName } from './git-runner.ts'
import type { Entry } from './path-states.ts'
import type { NamedChange } from './plan-rollback.ts'

/**
 * The changes of several pieces of work as one: each list has the changes of one piece, the oldest first. Between two pieces
 * others may have changed a file; what the earlier piece did to it is then not undone, unless `force` is set.
 */
export function composeChanges(
  pieces: readonly (readonly NamedChange[])[],
  { force }: { readonly force: boolean },
): Composed {
  const changes = new Map<GitName, NamedChange>()
  const edited = new Set<GitName>()
  for (const piece of pieces.toReversed())
    for (const { name, before, after } of piece) {
      const later = changes.get(name)
      if (edited.has(name)) continue
      if (!later || force || isEqual(later.before, after))
        changes.set(name, changeOf(name, before, later ? later.after : after))
      else edited.add(name)
    }
  const isChange = ({ before, after }: NamedChange): boolean => !isEqual(before, after)
  return { changes: [...changes.values()].filter(isChange), edited: [...edited] }
}

interface Composed {
  readonly changes: readonly NamedChange[]
  /** Files that others changed between two pieces: they are restored to their state before the later piece only. */
  readonly edited: readonly GitName[]
}

function changeOf(name: GitName, before: Entry | undefined, after: Entry | undefined): NamedChange {
  return { name, ...(before && { before }), ...(after && { after }) }
}

const isEqual = (a: Entry | undefined, b: Entry | undefined): boolean => a?.id === b?.id && a?.mode === b?.mode
