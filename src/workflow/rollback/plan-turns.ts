import type { FileHistory } from './file-history.ts'
import type { RollbackConflict, RollbackPlan, Snapshot } from './file-snapshots.ts'

/** The files around the work on one message. */
export interface WholeTurn {
  readonly before: Snapshot
  readonly after: Snapshot
}

/** What taking back the work on several messages would do, from the last on. They come oldest first. */
export async function planTurns(files: FileHistory, turns: readonly WholeTurn[]): Promise<RollbackPlan> {
  const kinds = new Map<string, 'restore' | 'delete' | 'nothing'>()
  const conflicts = new Map<string, RollbackConflict>()
  /** Changed by somebody else, between what is looked at and what was looked at before. */
  const edited = new Set<string>()
  for (const [i, turn] of [...turns.entries()].reverse()) {
    const next = turns[i + 1]
    if (next) for (const { path } of await files.diff(turn.after, next.before)) edited.add(path)
    const plan = await files.plan(turn.before, turn.after)
    const now = new Map(plan.conflicts.map((conflict) => [conflict.path, conflict]))
    for (const { path, kind } of await files.diff(turn.before, turn.after)) {
      const back = kind === 'added' ? 'delete' : 'restore'
      if (kinds.has(path)) {
        if (edited.has(path)) conflicts.set(path, { path, why: 'somebody changed it between two messages' })
        else if (!conflicts.has(path)) kinds.set(path, back)
      } else {
        const isGone = ![...plan.restore, ...plan.delete].includes(path)
        if (now.has(path)) conflicts.set(path, now.get(path)!)
        kinds.set(path, isGone ? 'nothing' : back)
      }
      edited.delete(path)
    }
  }
  const all = (wanted: string): string[] => [...kinds].flatMap(([path, kind]) => (kind === wanted ? [path] : []))
  return { restore: all('restore'), delete: all('delete'), conflicts: [...conflicts.values()] }
}
