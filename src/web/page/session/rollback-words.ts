import {
  pluralize,
  RemoteProblem,
  type RemoteRollbackRequest,
  type RemoteSessionRollback,
  type RemoteSessionRollbackPlan,
  visibleName,
} from '../libero.ts'
import type { Said } from './session-context.ts'

interface ShownPlan extends RemoteSessionRollbackPlan {
  /** A run was cut off, so only force undoes its changes, with those of others since. */
  readonly isCutOff?: true
}

/** What a rollback would do; with force where nothing else undoes the files. */
export async function planOf(
  plan: (request: RemoteRollbackRequest) => Promise<RemoteSessionRollbackPlan>,
  request: RemoteRollbackRequest,
): Promise<ShownPlan> {
  try {
    return await plan(request)
  } catch (error) {
    if (!(error instanceof RemoteProblem) || error.code !== 'cut_off') throw error
    return { ...(await plan({ ...request, force: true })), isCutOff: true }
  }
}

/** What a rollback, or its undo, has done, and which files stayed as they are. */
export function rollbackWords({ files }: RemoteSessionRollback, did = 'Rolled back'): Said {
  const { conflicts = [], failed = [] } = files ?? {}
  const left = [
    ...conflicts.map(({ path, why }) => `${visibleName(path)}: ${why}`),
    ...failed.map((path) => `${visibleName(path)}: it could not be written`),
  ]
  if (left.length === 0) return { text: `${did}.` }
  const shown = left.slice(0, most)
  if (left.length > most) shown.push(`and ${left.length - most} more`)
  return { text: [`${did}, except ${pluralize(left.length, 'file')}:`, ...shown].join('\n'), isBad: true }
}

const most = 10
