import { join } from 'node:path'
import { StoreError } from '../../../core/errors.ts'
import type { SessionSummary } from '../../../core/store.ts'
import type { SqlDatabase } from '../../sqlite/statements.ts'
import { decodeText, encodeText } from '../../sqlite/stored-values.ts'
import { summaryOf } from '../../stored-summary.ts'
import { isHeld, readLease } from '../lease-file.ts'
import { ProcessStates } from '../process-states.ts'
import { folderNameOf, lineageOf } from '../session-folder.ts'
import { findById } from './index-rows.ts'
import type { SessionState } from './session-state.ts'

interface LivenessOptions {
  readonly dir: string
  readonly now: number
  /** The index, if it is up to date. Without it the folders are asked. */
  readonly database?: SqlDatabase | undefined
}

/** Which sessions are held by living processes. Each lease and process is looked at only once, so this is for one moment. */
export class LeaseLiveness {
  readonly #options: LivenessOptions
  readonly #states = new ProcessStates()
  readonly #held = new Map<string, boolean>()

  constructor(options: LivenessOptions) {
    this.#options = options
  }

  summaryOf({ id, parent, summary, mail, leaseProcessId }: SessionState): SessionSummary {
    const root = parent === undefined ? { id, mayBeHeld: leaseProcessId !== null } : this.#rootOf(parent)
    return summaryOf(summary, { id, parent, mail, isHeld: root.mayBeHeld && this.#isHeld(root.id) })
  }

  /** A child is written under the lease of its root. */
  #rootOf(parent: string): { readonly id: string; readonly mayBeHeld: boolean } {
    const { dir, database } = this.#options
    if (!database) return { id: lineageOf(dir, parent).at(-1) ?? parent, mayBeHeld: true }
    let root = { id: parent, mayBeHeld: true } // it may have no entries, and so no row
    for (let depth = 0; depth < maxDepth; depth++) {
      const row = findById(database, encodeText(root.id))
      if (!row) return root
      if (row.parent === null) return { id: root.id, mayBeHeld: row.lease_process !== null }
      root = { id: decodeText(row.parent), mayBeHeld: true }
    }
    return root
  }

  #isHeld(id: string): boolean {
    const known = this.#held.get(id)
    if (known !== undefined) return known
    const held = this.#lookAt(id)
    this.#held.set(id, held)
    return held
  }

  #lookAt(id: string): boolean {
    const { dir, now } = this.#options
    try {
      const lease = readLease(join(dir, folderNameOf(id)))
      return lease !== undefined && isHeld(lease, now, this.#states)
    } catch (error) {
      if (error instanceof StoreError) return false // taking the lease reports it
      throw error
    }
  }
}

/** So that a damaged index, in which a session is its own ancestor, does not hang the process. */
const maxDepth = 1000
