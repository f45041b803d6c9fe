import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createIds } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import type { InteractionKind } from '../../core/interaction.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createInteractions, type InteractionEvent } from './interactions.ts'
import type { Prompt } from './interactor-queue.ts'

const kinds = ['Confirm', 'Ask', 'Approve'] as const
const payload = { prompt: '', toolId: '', approvalKey: '', description: '' }
const nth = fc.nat(5)
const step = fc.oneof(
  fc.record({ do: fc.constant('ask' as const), kind: fc.constantFrom(...kinds), nth }),
  fc.record({ do: fc.constant('attach' as const), kinds: fc.option(fc.subarray([...kinds])), nth }),
  fc.record({ do: fc.constantFrom('respond', 'outOfBand', 'stop', 'leave', 'wait', 'settle', 'fail', 'close'), nth }),
)

test('B041 whatever the order, each question ends once, late answers are errors, no interactor sees two at once, and nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const clock = fakeClock()
      const events: InteractionEvent[] = []
      const hub = createInteractions({ clock, newId: createIds('q'), onEvent: (event) => events.push(event) })
      const shown: { prompt: Prompt; fail: (error: Error) => void; line: number }[] = []
      const asked: { run: AbortController; ends: unknown[] }[] = []
      const leaves: (() => void)[] = []
      let crowded = 0

      function attach(takes: readonly InteractionKind[] | null): void {
        const line = leaves.length
        const present = (prompt: Prompt) => {
          if (shown.some((one) => one.line === line && !one.prompt.signal.aborted)) crowded++
          return new Promise((_, fail) => shown.push({ prompt, fail, line }))
        }
        leaves.push(hub.attach({ ...(takes && { kinds: takes }), present }))
      }
      function ask(kind: InteractionKind): void {
        const question = { run: new AbortController(), ends: [] as unknown[] }
        asked.push(question)
        const outcome = hub.interact({ kind, payload: { ...payload, kind } }, { signal: question.run.signal })
        outcome.then(
          ({ status }) => question.ends.push(status),
          (error) => question.ends.push(error),
        )
      }
      /** Succeeds exactly if the question is open. */
      function answer(isOpen: boolean, respond: () => void): void {
        if (isOpen) respond()
        else expect(respond).toThrow(CodedError)
      }

      for (const one of steps) {
        const { prompt, fail } = shown.at(-1 - one.nth) ?? {}
        if (one.do === 'ask') ask(one.kind)
        if (one.do === 'attach') attach(one.kinds)
        if (one.do === 'respond' && prompt) answer(!prompt.signal.aborted, () => prompt.respond(true))
        if (one.do === 'outOfBand') {
          const id = `q-${one.nth + 1}`
          answer(
            hub.open.some(({ correlationId }) => correlationId === id),
            () => hub.answer(id, true),
          )
        }
        if (one.do === 'stop') asked.at(-1 - one.nth)?.run.abort(new Error('stopped'))
        if (one.do === 'leave') leaves.at(-1 - one.nth)?.()
        if (one.do === 'fail') fail?.(new Error('broken'))
        if (one.do === 'close') fail?.(new DOMException('closed', 'AbortError'))
        if (one.do === 'wait') await clock.advance(one.nth * 25_000)
        if (one.do === 'settle') await clock.advance(0)
      }
      await clock.advance(0)
      for (let i = 0; i <= asked.length && hub.open.length > 0; i++) await clock.advance(120_000)

      expect(asked.every(({ ends }) => ends.length === 1)).toBe(true)
      expect(crowded).toBe(0)
      expect(hub.open).toEqual([])
      expect(clock.pending).toBe(0)
      for (const { prompt } of shown) answer(false, () => prompt.respond(true))
      const issued = events.filter(({ type }) => type === 'InteractionIssued').map(({ correlationId }) => correlationId)
      const ended = events.filter(({ type }) => /Answered|TimedOut|Withdrawn/.test(type))
      expect(ended.map(({ correlationId }) => correlationId).sort()).toEqual(issued.sort())
    }),
    { numRuns: 200 },
  )
})
