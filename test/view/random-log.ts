import fc from 'fast-check'
import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import type { SessionView } from '../../src/view/session-view.ts'

/** A random log in which things happen in a possible order: calls before their results, questions before answers. */
export function randomLog({ minLength = 0 }: { minLength?: number } = {}): fc.Arbitrary<LogEntry[]> {
  return fc.array(fc.nat(2 ** 30), { minLength, maxLength: 60 }).map((choices) => {
    const log: LogEntry[] = []
    const open: string[] = []
    const asked: string[] = []
    const waiting: string[] = []
    let turns = 0
    let runId = 'r'
    for (const choice of choices) {
      const n = log.length + 1
      const body = step(choice, n)
      log.push({ ...body, seq: n, id: `e${n}`, at: n * 10 })
      note(body)
    }
    return log

    function step(choice: number, n: number): EntryBody {
      const pick = choice >> 4
      const callId = open[pick % Math.max(1, open.length)]
      const askedId = asked[pick % Math.max(1, asked.length)]
      switch (choice % 16) {
        case 0:
          return { type: 'run_started', runId: `r${n}`, model: 'm', processId: `p${pick % 2}` }
        case 1:
          return {
            ...{ type: 'run_ended', runId, status: statuses[pick % statuses.length]!, stop: 'end' },
            ...(pick % 3 === 0 && { error: { name: 'Error', message: 'no' } }),
          }
        case 2:
          return { type: 'input', mode: 'steer', clientKey: `k${n}`, content: [{ type: 'text', text: `steer ${n}` }] }
        case 3:
        case 4:
          return { type: 'turn', turn: turn('user', `say ${n}`), consumed: waiting.slice(0, pick % 3) }
        case 5:
        case 6:
        case 7: {
          const calls = Array.from({ length: pick % 3 }, (_, i) => `c${n}-${i}`)
          const blocks = calls.map((id) => ({ type: 'tool_call', id, name: 'look', input: { n } }) as const)
          const usage = { input: pick % 100, output: 1 }
          const said = turn('assistant', `answer ${n}`)
          return { type: 'turn', turn: { ...said, content: [...said.content, ...blocks], usage } }
        }
        case 8:
          if (callId) return { type: 'call_started', callId, key: callId, attempt: 1, replay: 'opaque' }
          break
        case 9:
        case 10:
          if (callId) return { type: 'call_result', callId, output: `result ${n}`, outcome: 'done' }
          break
        case 11:
          if (callId) return { type: 'approval_requested', callId, digest: 'd', reason: `why ${n}` }
          break
        case 12:
          if (askedId)
            return {
              type: 'approval_answered',
              callId: askedId,
              digest: pick % 3 === 0 ? 'x' : 'd',
              decision: 'allow',
              by: 'ann',
            }
          break
        case 13:
          if (n > 1) return { type: 'rewind', toSeq: pick % n }
          break
        case 14:
          return { type: 'compaction', toSeq: pick % n, summary: [{ type: 'text', text: 'so far' }] }
        case 15:
          if (waiting.length > 0) return { type: 'withdrawn', input: waiting[pick % waiting.length]! }
      }
      if (choice % 3 === 0) return { type: 'parked', reason: 'it crashed' }
      return choice % 3 === 1 ? { type: 'unparked' } : { type: 'label', text: `label ${n}` }
    }

    function turn(role: 'user' | 'assistant', text: string) {
      return { id: `t${++turns}`, runId: 'r', role, content: [{ type: 'text' as const, text }], createdAt: turns }
    }

    function note(body: EntryBody): void {
      if (body.type === 'run_started') runId = body.runId
      if (body.type === 'input') waiting.push(`e${log.length}`)
      if (body.type === 'withdrawn') waiting.splice(waiting.indexOf(body.input), 1)
      if (body.type === 'turn' && body.consumed) waiting.splice(0, body.consumed.length)
      if (body.type === 'turn' && body.turn.role === 'assistant')
        open.splice(0, open.length, ...body.turn.content.flatMap((b) => (b.type === 'tool_call' ? [b.id] : [])))
      if (body.type === 'call_result') open.splice(open.indexOf(body.callId), 1)
      if (body.type === 'approval_requested') asked.push(body.callId)
      if (body.type === 'rewind') for (const list of [open, asked, waiting]) list.splice(0)
    }
  })
}

const statuses = ['completed', 'aborted', 'error', 'suspended', 'left'] as const

/** What a replay can know: without what only the process told that ran the calls. */
export function withoutLive({ children: _, rows, fold, ...view }: SessionView): object {
  return { ...view, committed: fold.committed, rows: [...rows].map((row) => ({ ...row, live: undefined })) }
}
