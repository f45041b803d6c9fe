import type { PromptPart } from '../../core/turn.ts'
import { readAttachments } from '../../plugins/attachments.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { errorDetailOf } from './error-detail.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

/** What people are shown where the log could not be written: what they said, and why it came to nothing. */
export function unsavedMessages(
  { clock, newId }: Pick<WorkflowDependencies, 'clock' | 'newId'>,
  about: {
    readonly agentId: string
    readonly error: unknown
    readonly round: number
    readonly prompt?: readonly PromptPart[]
    readonly clientKey?: string
  },
): { readonly user?: AgentInstanceMessage; readonly failure: AgentInstanceMessage } {
  const { agentId, error, round, prompt, clientKey = newId() } = about
  const now = clock.now()
  const unsaved = { agentId, created: now, modified: now }
  const metadata = { isComplete: true, isPersisted: false, round }
  const errorDetail = errorDetailOf(error)
  return {
    ...(prompt && {
      user: { id: clientKey, role: 'user', content: readAttachments(prompt).text, ...unsaved, metadata },
    }),
    failure: {
      id: newId(),
      role: 'error',
      content: errorDetail.message,
      ...unsaved,
      metadata: { ...metadata, isError: true, errorDetail },
    },
  }
}
