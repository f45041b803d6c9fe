import { pluralize, type RemoteSessionRollback, visibleName } from '../libero.ts'
import type { Said } from './session-context.ts'

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
