import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import { yieldEntry } from '../../plugins/yield-note.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import { unknownWords } from '../instance-note.ts'
import type { AgentWork } from './agent-work.ts'
import type { FollowedLog } from './followed-log.ts'
import type { OneWriter } from './one-writer.ts'
import { stopElsewhere } from './stop-elsewhere.ts'
import type { Unheard } from './unheard.ts'
import type { WaitingCalls } from './waiting-calls.ts'

export interface CancellingOptions {
  readonly agentId: string
  readonly session: Session
  readonly store: SessionStore
  readonly makings: Pick<WorkflowDependencies, 'clock' | 'newId'>
  readonly log: FollowedLog
  readonly writer: OneWriter
  readonly unheard: Unheard
  readonly waiting: WaitingCalls
  readonly work: AgentWork
  /** Reads what others wrote. */
  readonly refresh: () => Promise<void>
}

/** Stops what an agent does, here or in another process. */
export class Cancelling {
  readonly #options: CancellingOptions

  constructor(options: CancellingOptions) {
    this.#options = options
  }

  async cancel(): Promise<void> {
    const { work, waiting, writer, log } = this.#options
    const isAsking = log.views.messages.status.state === 'input-required'
    if (work.running) {
      await work.stop(new Error('the agent was cancelled'))
      if (!work.runs.isElsewhere) return this.keepUnheard()
    }
    await this.#cancelElsewhere()
    const calls = await waiting.list()
    if (calls.length > 0) await waiting.denyAll(calls)
    // Somebody answered meanwhile, and it went on. Where nothing had been asked, what is under way is new.
    if (work.running) return isAsking || calls.length > 0 ? this.cancel() : undefined
    if (calls.length > 0 || this.#isLeft) await writer.note(yieldEntry('canceled'))
  }

  /** Its process ended in the middle, and the next one that starts would go on. */
  get #isLeft(): boolean {
    const { status, messages } = this.#options.log.views.messages
    return status.state === 'submitted' && messages.length > 0
  }

  async #cancelElsewhere(): Promise<void> {
    const { agentId, session, store, makings, log, unheard, work, refresh } = this.#options
    const beginning = `beginning/${makings.newId()}`
    await stopElsewhere({
      ...{ agentId, session, store, beginning, clock: makings.clock },
      findRun: async () => {
        await refresh()
        if (log.isGone) throw new Error(unknownWords(agentId))
        if (work.running) return undefined
        return log.activeRun ?? (work.runs.isElsewhere ? beginning : undefined)
      },
      head: () => log.views.head,
      settle: () => unheard.takeUpUnlessBusy(),
    })
    work.runs.forget()
    if (!unheard.isEmpty && !work.running) await unheard.takeUpUnlessBusy()
  }

  /** What was said to a run that was cancelled before it heard it stays to be seen. */
  async keepUnheard(): Promise<void> {
    const { unheard, work } = this.#options
    if (!unheard.isEmpty && !work.running) await unheard.takeUpUnlessBusy()
  }

  /** An addition to be made whatever others do: who began to work on it meanwhile is stopped, too. */
  async noteOverRuns(entry: () => EntryBody, tries = 3): Promise<void> {
    try {
      await this.#options.writer.note(entry())
    } catch (error) {
      if (!(error instanceof SessionBusyError) || tries === 0) throw error
      await this.cancel()
      await this.noteOverRuns(entry, tries - 1)
    }
  }
}
