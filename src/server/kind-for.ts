import { Problem } from './problem.ts'
import type { ServerFleet } from './session-work.ts'

/** The kind of a session that is made for the workers of a fleet. One that they do not have is refused: it would wait for ever. */
export function kindFor(fleet: ServerFleet | undefined, wanted?: unknown): { readonly kind?: string } {
  const { kinds = [] } = fleet ?? {}
  const kind = wanted === undefined ? kinds[0] : String(wanted)
  if (kind === undefined) return {}
  if (kinds.length === 0 || kinds.includes(kind)) return { kind }
  const named = JSON.stringify(kind.slice(0, 60))
  throw new Problem(422, 'no_kind', `There is no kind ${named} here; choose one of ${kinds.join(', ')}`)
}
