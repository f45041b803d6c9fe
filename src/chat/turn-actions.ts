import type { AgentInstanceMessage, UserContent } from '../plugins/message.ts'
import type { ChatTurn } from './message-list.ts'

/** Something that can be done with a turn, as a command for the host: nothing happens by itself. */
export type TurnAction =
  /** The answer to the clipboard; or all that was said, with who said it. */
  | { readonly type: 'copy' | 'copy-all'; readonly turnId: string; readonly text: string }
  /** Take back what came after the message, and send it again. */
  | { readonly type: 'retry'; readonly turnId: string; readonly messageId: string; readonly content: UserContent }
  /** Take back all messages of the turn; what the person wrote returns to the input. */
  | {
      readonly type: 'delete'
      readonly turnId: string
      readonly messageIds: readonly string[]
      readonly input?: UserContent
    }
  /** Put files back to where they were before the turn. */
  | {
      readonly type: 'rollback'
      readonly turnId: string
      readonly messageId: string
      readonly commits: Readonly<Record<string, string>>
    }

/** What can be done with a turn now. While it is being answered, only what changes nothing. */
export function turnActions(turn: ChatTurn): readonly TurnAction[] {
  return [copyAnswer(turn), copyAll(turn), retryTurn(turn), deleteTurn(turn), rollbackTurn(turn)].filter(
    (action) => action !== undefined,
  )
}

/** The answer of the agent, without what tools said. */
export function copyAnswer(turn: ChatTurn): TurnAction | undefined {
  const texts = turn.messages.filter(isAnswer).map(({ content }) => content.trim())
  const text = texts.filter((one) => one !== '').join('\n\n')
  return text === '' ? undefined : { type: 'copy', turnId: turn.id, text }
}

/** Everything that was said, each with who said it. */
export function copyAll(turn: ChatTurn): TurnAction | undefined {
  const said = turn.messages.filter(({ content }) => content.trim() !== '')
  if (said.length === 0) return undefined
  const text = said.map((message) => `${speakerOf(message)}:\n${message.content.trim()}`).join('\n\n')
  return { type: 'copy-all', turnId: turn.id, text }
}

/** Not without a message of a person, which is what is sent again. */
export function retryTurn(turn: ChatTurn): TurnAction | undefined {
  if (!turn.user || isRunning(turn)) return undefined
  return { type: 'retry', turnId: turn.id, messageId: turn.user.id, content: contentOf(turn.user) }
}

/** What the person wrote is kept for the input, attachments included. */
export function deleteTurn(turn: ChatTurn): TurnAction | undefined {
  if (isRunning(turn)) return undefined
  const messageIds = turn.messages.map(({ id }) => id)
  return { type: 'delete', turnId: turn.id, messageIds, ...(turn.user && { input: contentOf(turn.user) }) }
}

/** Only where it is known what the files were, and they were not put back before. */
export function rollbackTurn(turn: ChatTurn): TurnAction | undefined {
  const { beforeCommitMap: commits = {}, rolledBack } = turn.user?.metadata ?? {}
  if (!turn.user || rolledBack || Object.keys(commits).length === 0 || isRunning(turn)) return undefined
  return { type: 'rollback', turnId: turn.id, messageId: turn.user.id, commits }
}

const isAnswer = ({ role }: AgentInstanceMessage): boolean => role === 'assistant' || role === 'agent'

const isRunning = ({ messages }: ChatTurn): boolean => messages.some(({ metadata }) => metadata?.isComplete === false)

function speakerOf({ role, metadata }: AgentInstanceMessage): string {
  if (role === 'tool' || metadata?.isToolResult) return metadata?.toolId ? `Tool ${metadata.toolId}` : 'Tool'
  return speakers[role]
}

const speakers: Readonly<Record<AgentInstanceMessage['role'], string>> = {
  user: 'User',
  assistant: 'Assistant',
  agent: 'Assistant',
  tool: 'Tool',
  error: 'Error',
}

function contentOf({ content, metadata }: AgentInstanceMessage): UserContent {
  return {
    text: content,
    ...(metadata?.file && { file: metadata.file }),
    ...(metadata?.wikiTiddlers && { wikiTiddlers: metadata.wikiTiddlers }),
  }
}
