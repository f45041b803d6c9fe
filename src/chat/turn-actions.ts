import type { AgentInstanceMessage, UserContent } from '../plugins/message.ts'
import type { ChatTurn, MessageList } from './message-list.ts'

/** An action on a turn, as a command for the host to execute. */
export type TurnAction =
  /** Copies the answer, or all messages with their speakers. */
  | { readonly type: 'copy' | 'copy-all'; readonly turnId: string; readonly text: string }
  /** Removes everything after the message, and sends it again. */
  | { readonly type: 'retry'; readonly turnId: string; readonly messageId: string; readonly content: UserContent }
  /** Removes all messages of the turn; the person's text returns to the input. */
  | {
      readonly type: 'delete'
      readonly turnId: string
      readonly messageIds: readonly string[]
      readonly input?: UserContent
    }
  /** Restores the files to their state before the turn. */
  | {
      readonly type: 'rollback'
      readonly turnId: string
      readonly messageId: string
      readonly commits: Readonly<Record<string, string>>
    }

/** The available actions on a turn. During its answer, only those that change nothing. */
export function turnActions(turn: MessageList['turns'][number]): readonly TurnAction[] {
  return [copyAnswer(turn), copyAll(turn), retryTurn(turn), deleteTurn(turn), rollbackTurn(turn)].filter(
    (action) => action !== undefined,
  )
}

/** The answer of the agent, without tool results. */
export function copyAnswer(turn: ChatTurn): TurnAction | undefined {
  const texts = turn.messages.filter(isAnswer).map(({ content }) => content.trim())
  const text = texts.filter((one) => one !== '').join('\n\n')
  return text === '' ? undefined : { type: 'copy', turnId: turn.id, text }
}

/** All messages, each with its speaker. */
export function copyAll(turn: ChatTurn): TurnAction | undefined {
  const withText = turn.messages.filter(({ content }) => content.trim() !== '')
  if (withText.length === 0) return undefined
  const text = withText.map((message) => `${speakerOf(message)}:\n${message.content.trim()}`).join('\n\n')
  return { type: 'copy-all', turnId: turn.id, text }
}

/** Needs a message of a person, which is sent again. */
export function retryTurn(turn: ChatTurn): TurnAction | undefined {
  if (!turn.user || isRunning(turn)) return undefined
  return { type: 'retry', turnId: turn.id, messageId: turn.user.id, content: contentOf(turn.user) }
}

/** The person's text and attachments return to the input. */
export function deleteTurn(turn: ChatTurn): TurnAction | undefined {
  if (isRunning(turn)) return undefined
  const messageIds = turn.messages.map(({ id }) => id)
  return { type: 'delete', turnId: turn.id, messageIds, ...(turn.user && { input: contentOf(turn.user) }) }
}

/** Needs the commits before the turn, and that they were not restored yet. */
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
