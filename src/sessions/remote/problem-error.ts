import { LeaseLostError, leaseLost, StoreError, sessionBusy } from '../../core/errors.ts'
import { excerpt } from './answer.ts'
import type { Problem } from './protocol.ts'

/** What was asked, for the words of an error. */
interface About {
  readonly origin: string
  readonly id?: string | undefined
  /** The head that the caller knew. */
  readonly head?: number
}

/** The error that a store on this machine would have thrown. */
export function errorOf({ code, message, owner, since, head }: Problem, about: About): Error {
  const { origin, id = '', head: expected } = about
  const by = owner ? excerpt(owner, 200) : 'another writer'
  const known = owner === undefined ? {} : { owner }
  switch (code) {
    case 'session_busy':
      return sessionBusy(id, owner && by, since)
    case 'lease_lost':
      return leaseLost(id, owner && by)
    case 'head_moved': {
      const moved = `Session ${id} has moved on${head === undefined ? '' : ` to entry ${head}`}, expected ${expected}`
      return new LeaseLostError(owner === undefined ? moved : `${moved}; ${by} has taken it over`, known)
    }
    case 'too_large':
      return new StoreError('full', `${origin} does not take so much at once: ${message}`)
    default:
      return new StoreError('unavailable', `${origin} refused the request as ${code}: ${message}`)
  }
}
