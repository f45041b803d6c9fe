import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import type { UserContent } from '../../plugins/message.ts'
import type { MessageProjection } from '../../plugins/message-projection.ts'
import type { RollbackPlan, RollbackResult } from '../rollback/file-snapshots.ts'
import type { TurnFiles } from '../rollback/turn-files.ts'
import type { OneWriter } from './one-writer.ts'

export interface GoingBackOptions {
  readonly agentId: string
  readonly session: Session
  readonly writer: OneWriter
  readonly messages: MessageProjection
  readonly files: TurnFiles
  readonly isRunning: () => boolean
  /** Reads what others wrote. */
  readonly catchUp: () => Promise<void>
}

/** The ways back of an agent: words that are taken back, files as they were. Only while nobody works on it. */
export class GoingBack {
  readonly #options: GoingBackOptions

  constructor(options: GoingBackOptions) {
    this.#options = options
  }

  /** Takes a message of a person back, with all that came after it. */
  rewind(messageId: string): Promise<UserContent> {
    const { agentId, session, messages } = this.#options
    return this.#whileAtRest(async () => {
      const said = messages.saidBefore(messageId)
      if (!said)
        throw new Error(`agent ${agentId} has no message of a person "${messageId}"; getMessages lists what was said`)
      await session.rewind(said.toSeq)
      return said.content
    })
  }

  /** Puts the files back to what they were before a message. What somebody changed since is kept, and reported. */
  rollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    return this.#whileAtRest((note) => this.#options.files.rollback(messageId, { force, note }))
  }

  /** Takes that back. */
  undoRollback(messageId: string, { force }: { readonly force: boolean }): Promise<RollbackResult> {
    return this.#whileAtRest((note) => this.#options.files.undo(messageId, { force, note }))
  }

  /** What `rollback` would do. */
  async planRollback(messageId: string): Promise<RollbackPlan> {
    const { writer, files, catchUp } = this.#options
    this.#refuseAtWork()
    return writer.inTurn(async () => {
      await catchUp()
      return files.plan(messageId)
    })
  }

  /** With the right to write from the beginning to the end: no process starts to work on it in between. */
  async #whileAtRest<Result>(goBack: (note: (entry: EntryBody) => Promise<void>) => Promise<Result>): Promise<Result> {
    const { agentId, session, writer } = this.#options
    this.#refuseAtWork()
    try {
      return await writer.inTurn(() => writer.whileOpen(() => goBack(async (entry) => session.log.append(entry))))
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error
      throw new Error(
        `agent ${agentId} is at work in another process; stop it with cancelAgent("${agentId}") before you go back`,
        { cause: error },
      )
    }
  }

  #refuseAtWork(): void {
    const { agentId, isRunning } = this.#options
    if (isRunning()) throw new Error(`agent ${agentId} is at work; cancel it before you go back`)
  }
}
