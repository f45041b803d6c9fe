import { expect, test } from 'vitest'
import type { AgentInstanceMessage } from '../libero.ts'
import { renderers } from '../parts/renderers.tsx'
import './pending-card.tsx'

const message = (metadata: NonNullable<AgentInstanceMessage['metadata']>): AgentInstanceMessage => ({
  ...{ id: 'm', agentId: 'a', role: 'assistant', content: 'Blue or red?', contentType: 'text/markdown', metadata },
})

test('WB136 a question that is answered is drawn as text: only a call that waits is a card', () => {
  for (const toolId of ['ask_user', 'ask-question']) {
    const call = { callId: 'c', toolId, parameters: {} }
    expect(renderers.pick(message({ toolId, isToolResult: true })).id).toBe('markdown')
    expect(renderers.pick(message({ toolId, calls: [call] })).id).toBe('markdown')
    expect(renderers.pick(message({ toolId, calls: [{ ...call, waitsFor: 'answer' }] })).id).toBe('question')
  }
  expect(renderers.pick(message({ details: { questionId: 'q' } })).id).toBe('markdown')
})
