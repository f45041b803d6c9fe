import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { UserContent } from '../../plugins/message.ts'
import type { RollbackPlan, RollbackResult } from '../../snapshots/file-snapshots.ts'
import type { LiveAgent } from '../agent/live-agent.ts'
import type { MessageFiles } from './message-files.ts'

/** Removes messages of an agent, and restores files. Only while no process runs the agent. */
export class AgentRollback {
  readonly #agent: LiveAgent
  readonly #files: MessageFiles

  constructor(agent: LiveAgent, files: MessageFiles) {
    this.#agent = agent
    this.#files = files
  }

  /** Removes a message of a person and all later ones. */
  rewind(messageId: string): Promise<UserContent> {
    const { id, session, log } = this.#agent
    return this.#withLease(async () => {
      const removed = log.views.messages.rewindPoint(messageId)
      if (!removed)
        throw new Error(`agent ${id} has no message of a person "${messageId}"; getMessages lists what was said`)
      await session.rewind(removed.toSeq)
      return removed.content
    })
  }

  /** Restores the files from before a message. Changes of others since are kept, and reported. */
  rollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    return this.#withLease((append) => this.#files.rollback(messageId, { force, append }))
  }

  undoRollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    return this.#withLease((append) => this.#files.undo(messageId, { force, append }))
  }

  /** A rollback that a crash interrupted is finished before the next work, unless another process holds the agent. */
  async finishInterrupted(): Promise<void> {
    const { id, session, writer, dependencies } = this.#agent
    if (!(await this.#files.isInterrupted())) return
    const finish = () => this.#files.finishInterrupted(async (entry) => session.log.append(entry))
    await writer
      .exclusively(() => writer.withLease(finish))
      .catch((cause) =>
        dependencies.onError(new Error(`an interrupted rollback of agent ${id} could not be finished`, { cause })),
      )
  }

  /** What `rollback` would do. */
  async planRollback(messageId: string): Promise<RollbackPlan> {
    this.#checkIdle()
    return this.#agent.writer.exclusively(async () => {
      await this.#agent.catchUp()
      return this.#files.plan(messageId)
    })
  }

  /** Holds the lease from the beginning to the end, so that no process starts a run in between. */
  async #withLease<Result>(work: (append: (entry: EntryBody) => Promise<void>) => Promise<Result>): Promise<Result> {
    const { id, session, writer } = this.#agent
    this.#checkIdle()
    try {
      return await writer.exclusively(() => writer.withLease(() => work(async (entry) => session.log.append(entry))))
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error
      throw new Error(
        `agent ${id} is at work in another process; stop it with cancelAgent("${id}") before a rewind or rollback`,
        { cause: error },
      )
    }
  }

  #checkIdle(): void {
    const { id, running } = this.#agent
    if (running) throw new Error(`agent ${id} is at work; cancel it before a rewind or rollback`)
  }
}
