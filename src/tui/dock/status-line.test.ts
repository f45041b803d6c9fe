import { expect, test } from 'vitest'
import type { ChatState } from '../../chat/chat.ts'
import { emptyView } from '../../view/session-view.ts'
import { createPaint } from '../terminal/paint.ts'
import { textWidth } from '../terminal/text-width.ts'
import { type StatusPart, statusLine } from './status-line.ts'

const paint = createPaint({ colours: false })
const state: ChatState = {
  ...{ phase: 'idle', view: emptyView, queue: [], prompts: [], notices: [], waitingElsewhere: [] },
  settings: { model: { provider: 'x', model: 'model-1' }, mode: 'plan', folder: '/home/me/shop' },
  warning: 'no model yet: trying things out with rules',
}
const at = (columns: number): string => statusLine(state, { paint, columns, home: '/home/me', branch: 'main' })

test('the mode is shown at every width, also beside a warning', () => {
  expect(at(100)).toBe(' plan · no model yet: trying things out with rules · model-1 · ~/shop (main)')
  expect(at(40)).toBe(' plan · no model yet: trying things o…')
  for (let columns = 8; columns < 100; columns++) {
    expect(at(columns)).toMatch(/^ plan/)
    expect(textWidth(at(columns))).toBeLessThan(columns)
  }
})

test('UI110 the parts of the line are chosen and ordered; the mode is always there, and yolo first', () => {
  const { warning: _, ...calm } = state
  const shown = (parts: StatusPart[], mode: 'ask' | 'yolo' = 'ask'): string =>
    statusLine(
      { ...calm, sessionId: 's-1', settings: { ...state.settings, mode } },
      { paint, columns: 100, home: '/home/me', branch: 'main', parts },
    )
  expect(shown(['model', 'mode', 'branch', 'folder', 'title'])).toBe(' model-1 · ask · main · ~/shop · s-1')
  expect(shown(['folder'])).toBe(' ask · ~/shop (main)')
  expect(shown([])).toBe(' ask')
  expect(shown(['model', 'mode'], 'yolo')).toBe('  yolo  · model-1')
})

test('of a service that counts no tokens no context is shown', () => {
  const after = (input: number): string => {
    const usage = { ...emptyView.usage, last: { input, output: 0 } }
    const settings = { ...state.settings, model: { ...state.settings.model, contextWindow: 100 } }
    const { warning: _, ...calm } = state
    const counted = { ...calm, settings, view: { ...emptyView, usage } }
    return statusLine(counted, { paint, columns: 100, home: '/home/me', branch: 'main', parts: ['context'] })
  }
  expect(after(0)).toBe(' plan')
  expect(after(40)).toBe(' plan · context 40 %')
})
