import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { Waiting } from '../../workflow/index.ts'
import { CliError } from '../cli-error.ts'
import { askPerson, type Reply } from './ask-person.ts'
import type { OpenedWorkflow } from './open-workflow.ts'
import { untilNotAsked } from './until-not-asked.ts'

interface AskedWhile {
  readonly person: Interactor
  readonly agentId: string
  readonly call: Waiting
  readonly cwd: string
  /** Takes the question away. It is aborted when this is over, too. */
  readonly closing: AbortController
}

/** Asks the person what an agent waits for, until that is `answered` elsewhere, or is not asked any more. */
export async function askWhileAsked(
  opened: Pick<OpenedWorkflow, 'workflow' | 'store'>,
  { person, agentId, call, cwd, closing }: AskedWhile,
): Promise<Reply | 'answered' | undefined> {
  const { signal } = closing
  const isAnswered = untilNotAsked(opened, { agentId, call, signal }).then((isOver) => {
    if (isOver) closing.abort()
    return isOver
  })
  try {
    const reply = await askPerson(person, call, { signal, cwd }).catch(noReply)
    closing.abort()
    return reply ?? ((await isAnswered) ? 'answered' : undefined)
  } finally {
    closing.abort()
  }
}

/** A dialog that was closed is no answer, and says so itself. */
function noReply(error: unknown): undefined {
  if (error instanceof CliError) throw error
}
