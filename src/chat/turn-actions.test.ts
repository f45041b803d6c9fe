import { describe, expect, test } from 'vitest'
import type { AgentInstanceMessage } from '../plugins/message.ts'
import { createMessageList } from './message-list.ts'
import { copyAll, copyAnswer, deleteTurn, retryTurn, rollbackTurn, turnActions } from './turn-actions.ts'

const said = (id: string, more: Partial<AgentInstanceMessage> = {}): AgentInstanceMessage => ({
  id,
  agentId: 'a',
  role: 'assistant',
  content: id,
  ...more,
})

function turnOf(...messages: readonly AgentInstanceMessage[]) {
  const list = createMessageList()
  for (const message of messages) list.apply(message)
  return list.turns[0]!
}

const file = { mediaType: 'image/png', data: 'AA==' }
const wikiTiddlers = [{ workspaceName: 'w', tiddlerTitle: 't' }]
const commits = { '/wiki': 'abc' }
const asked = said('u', { role: 'user', content: 'Do it.', metadata: { file, wikiTiddlers, beforeCommitMap: commits } })
const turn = turnOf(
  asked,
  said('x', { content: 'Looking.\n' }),
  said('r', { role: 'tool', content: 'found', metadata: { isToolResult: true, toolId: 'grep' } }),
  said('e', { role: 'error', content: 'broke off' }),
  said('y', { content: 'Done.' }),
)

describe('a turn can be', () => {
  test('copied: the answer, or all of it', () => {
    expect(copyAnswer(turn)).toEqual({ type: 'copy', turnId: 'u', text: 'Looking.\n\nDone.' })
    expect(copyAll(turn)).toEqual({
      type: 'copy-all',
      turnId: 'u',
      text: 'User:\nDo it.\n\nAssistant:\nLooking.\n\nTool grep:\nfound\n\nError:\nbroke off\n\nAssistant:\nDone.',
    })
  })

  test('retried, with everything that the person sent', () => {
    const content = { text: 'Do it.', file, wikiTiddlers }
    expect(retryTurn(turn)).toEqual({ type: 'retry', turnId: 'u', messageId: 'u', content })
    expect(retryTurn(turnOf(said('x')))).toBeUndefined()
  })

  test('deleted; the person’s text returns to the input', () => {
    expect(deleteTurn(turn)).toEqual({
      type: 'delete',
      turnId: 'u',
      messageIds: ['u', 'x', 'r', 'e', 'y'],
      input: { text: 'Do it.', file, wikiTiddlers },
    })
    expect(deleteTurn(turnOf(said('x')))).toEqual({ type: 'delete', turnId: 'x', messageIds: ['x'] })
  })

  test('rolled back, once, if the commits are known', () => {
    expect(rollbackTurn(turn)).toEqual({ type: 'rollback', turnId: 'u', messageId: 'u', commits })
    const withMetadata = (metadata: AgentInstanceMessage['metadata']) =>
      turnOf(said('u', { role: 'user', ...(metadata && { metadata }) }))
    expect(rollbackTurn(withMetadata({ beforeCommitMap: commits, rolledBack: true }))).toBeUndefined()
    expect(rollbackTurn(withMetadata({ beforeCommitMap: {} }))).toBeUndefined()
    expect(rollbackTurn(withMetadata(undefined))).toBeUndefined()
  })

  test('only copied while it is being answered', () => {
    const running = turnOf(asked, said('x', { content: 'Do', metadata: { isComplete: false } }))
    expect(turnActions(running).map(({ type }) => type)).toEqual(['copy', 'copy-all'])
    expect(turnActions(turn).map(({ type }) => type)).toEqual(['copy', 'copy-all', 'retry', 'delete', 'rollback'])
    expect(turnActions(turnOf(asked)).map(({ type }) => type)).toEqual(['copy-all', 'retry', 'delete', 'rollback'])
  })
})
