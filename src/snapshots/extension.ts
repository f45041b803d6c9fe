import type { Effect } from '../core/authority.ts'
import { messageOf } from '../core/errors.ts'
import type { Extension, Run } from '../core/run.ts'
import type { Session } from '../core/store.ts'
import type { FileSnapshots } from './file-snapshots.ts'
import { finishInterrupted, type InterruptedRollback, leftUnfinished } from './session-rollback.ts'
import { noteEntry, type SnapshotNote, Timeline } from './timeline.ts'

interface KeepOptions {
  /** The snapshots of the folder in which a run works; undefined if it works nowhere. */
  readonly files: (run: Run) => Promise<FileSnapshots | undefined>
  readonly onUnavailable?: ((why: string) => void) | undefined
  readonly onInterrupted?: ((rollback: InterruptedRollback) => void) | undefined
}

/**
 * Takes a snapshot before each prompt, before each call that may write, and after a run with such calls, and notes it in the
 * log. The first is taken while the model is asked. A run without a session, and that of a child, takes none: the call of
 * the child's parent is noted. Work continues without snapshots where none can be taken.
 */
export function keepSnapshots(options: KeepOptions): Extension {
  return {
    name: 'snapshots',
    async start(run, hooks) {
      const { session } = run
      const files = run.parent || !session ? undefined : await options.files(run)
      if (!files || !session) return
      const notes = new RunSnapshots(run, session, files, options)
      hooks.hook('tool:gate', (gate) => {
        if (!mayWrite(gate.effects)) return
        const { beforeTool } = gate
        gate.beforeTool = async () => {
          await beforeTool?.()
          if (gate.confinement?.profile !== 'read-only') await notes.take('call')
        }
      })
      // Without this note it is unknown which changes before the next run are those of this one.
      hooks.hook('agent:done', () => notes.end())
    },
  }
}

/** After this share of the snapshots old ones are removed. */
const tidyShare = 0.1

const harmless: ReadonlySet<Effect> = new Set<Effect>(['fs.read', 'net', 'schedule.write', 'ask'])
const mayWrite = (effects: readonly Effect[]): boolean => effects.some((effect) => !harmless.has(effect))

/** The snapshots of one run, one after the other. */
class RunSnapshots {
  readonly #run: Run
  readonly #files: FileSnapshots
  readonly #options: KeepOptions
  #last: Promise<void>
  #hasCalls = false
  #isUnavailable = false

  constructor(run: Run, session: Session, files: FileSnapshots, options: KeepOptions) {
    this.#run = run
    this.#files = files
    this.#options = options
    this.#last = this.#begin(session)
    this.#last.catch(() => {}) // `take` and `end` report it
  }

  take(moment: 'call' | 'end'): Promise<void> {
    if (moment === 'call') this.#hasCalls = true
    this.#last = this.#last.then(() => this.#take(moment))
    return this.#last
  }

  async end(): Promise<void> {
    this.#last = this.#last.catch(() => {}) // a cancelled run cancels the snapshot that it waits for
    await (this.#hasCalls ? this.take('end') : this.#last)
  }

  async #begin(session: Session): Promise<void> {
    // Asked once for all sessions: a script costs the start of its processes, and there is rarely a rollback.
    const owners = await this.#files.unfinished().catch(() => undefined)
    if (owners?.includes(session.id) ?? true) {
      const interrupted = await finishInterrupted(session, this.#files).catch((error) => this.#fail(messageOf(error)))
      if (interrupted) this.#options.onInterrupted?.(interrupted)
    }
    for (const id of this.#isUnavailable ? [] : await leftUnfinished(session, owners ?? []).catch(() => []))
      this.#options.onInterrupted?.({ outcome: 'unfinished', session: id })
    await this.#shareOriginal(session).catch(() => {}) // they stay as long as the original does
    await this.#take('prompt')
  }

  /** With its first run a fork keeps the snapshots that it has in common with its original, which may be deleted. */
  async #shareOriginal(session: Session): Promise<void> {
    if (!this.#run.log.transcript.states.has('fork') || (await this.#files.owns(session.id))) return
    await this.#files.share((await Timeline.read(session.entries())).snapshotIds, session.id)
  }

  async #take(moment: 'prompt' | 'call' | 'end'): Promise<void> {
    if (this.#isUnavailable) return
    const { session, cancellation } = this.#run
    const signal = moment === 'end' ? undefined : cancellation.signal
    // Not only at the end: a run may be long, its process may be killed, and one without calls takes no last snapshot.
    const tidy = moment === 'end' || Math.random() < tidyShare
    const taken = await this.#files.take({ owner: session!.id, tidy, ...(signal && { signal }) }).catch((error) => {
      if (signal?.aborted) throw error
      return { unavailable: messageOf(error) } // as where the run has removed the folder
    })
    if ('unavailable' in taken) await this.#fail(taken.unavailable)
    else await this.#note({ moment, snapshot: taken })
  }

  async #fail(why: string): Promise<void> {
    this.#isUnavailable = true
    this.#options.onUnavailable?.(why)
    await this.#note({ unavailable: why })
  }

  async #note(note: SnapshotNote): Promise<void> {
    await this.#run.log.append(noteEntry(note))
  }
}
