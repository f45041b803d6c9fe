import { type ProcessIdentity, processState, thisProcess } from '../../platform/process-identity.ts'

type State = 'own' | 'alive' | 'dead' | 'unknown'

/** The states of processes. Each is looked at only once, so this is for one moment. */
export class ProcessStates {
  #own: string | undefined
  readonly #states = new Map<string, State>()

  /** `alive` only if it is certain: without its start time, a number may have been given to another process. */
  of(process: ProcessIdentity | undefined): State {
    if (!process) return 'unknown'
    const id = processIdOf(process)
    this.#own ??= processIdOf(thisProcess())
    if (id === this.#own) return 'own'
    const known = this.#states.get(id)
    if (known) return known
    const found = processState(process)
    const state = found === 'alive' && process.started === '' ? 'unknown' : found
    this.#states.set(id, state)
    return state
  }
}

/** Identifies a process among all that use the store. */
export function processIdOf({ host, boot, pid, started }: ProcessIdentity): string {
  return [host, boot, pid, started].join('/')
}
