import { expect, test } from 'vitest'
import type { LogEntry } from '../core/log.ts'
import { emptyView, foldEvents } from '../view/session-view.ts'
import { createPaint } from './terminal/paint.ts'
import { createTranscript } from './transcript.ts'

test('a view that was read anew, as when another program goes on with the session, prints no row again', () => {
  const printed: string[] = []
  const transcript = createTranscript({
    ...{ paint: createPaint({ colours: false }), cwd: '/', columns: () => 80, now: () => 0 },
    commit: (lines) => printed.push(...lines),
  })
  const said = (seq: number, role: 'user' | 'assistant', text: string) => {
    const turn = { id: `t${seq}`, runId: `r${seq}`, role, content: [{ type: 'text', text }], createdAt: 0 }
    return {
      durable: true,
      seq,
      entry: { type: 'turn', seq, id: `e${seq}`, at: 0, turn } as unknown as LogEntry,
    } as const
  }
  const events = [said(1, 'user', 'One?'), said(2, 'assistant', 'Two.'), said(3, 'user', 'Three?')]
  transcript.update(foldEvents(emptyView, events))
  transcript.update(foldEvents(emptyView, events))
  transcript.update(foldEvents(emptyView, [...events, said(4, 'assistant', 'Four.')]))
  expect(printed.filter((line) => line.trim() !== '')).toEqual(['› One?', 'Two.', '› Three?', 'Four.'])
})
