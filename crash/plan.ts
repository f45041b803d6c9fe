import type { SessionContentBlock } from '../src/core/turn.ts'
import { randomOf } from './random.ts'

/** A planned call. */
export interface PlannedCall {
  readonly id: string
  readonly name: string
  readonly input: Record<string, unknown>
}

type Kind = 'parallel' | 'nested' | 'spawn' | 'ask' | 'deploy' | 'steer' | 'compact'

const full: readonly Kind[] = ['parallel', 'nested', 'spawn', 'ask', 'deploy', 'steer', 'compact']

/** The calls of the model in each turn before its last. Seed 0 is the plan with all kinds; others have 2 to 5 steps. */
export function planOf(seed: number): readonly (readonly PlannedCall[])[] {
  const kinds = [...full]
  if (seed !== 0) {
    const random = randomOf(seed)
    for (let i = kinds.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      ;[kinds[i], kinds[j]] = [kinds[j]!, kinds[i]!]
    }
    kinds.length = 2 + Math.floor(random() * 4)
  }
  return kinds.map((kind, step) =>
    callsOf(kind).map(([name, input], i) => ({ id: `s${step}${'abcd'[i]}`, name, input })),
  )
}

function callsOf(kind: Kind): [name: string, input: Record<string, unknown>][] {
  switch (kind) {
    case 'parallel':
      return [
        ['look', {}],
        ['pay', {}],
        ['send', {}],
        ['speak', { mode: 'followUp', via: 'store' }],
      ]
    case 'nested':
      return [
        ['big', {}],
        ['nest', {}],
      ]
    case 'spawn':
      return [
        ['spawn', { task: 'child' }],
        ['pay', {}],
      ]
    case 'ask':
      return [
        ['look', {}],
        ['ask', {}],
      ]
    case 'deploy':
      return [['deploy', {}]]
    case 'steer':
      return [
        ['speak', { mode: 'steer', via: 'agent' }],
        ['send', {}],
      ]
    case 'compact':
      return [
        ['compact', {}],
        ['send', {}],
      ]
  }
}

/** The plan of a child. */
export const childPlan: readonly (readonly PlannedCall[])[] = [
  [
    { id: 'k0a', name: 'look', input: {} },
    { id: 'k0b', name: 'pay', input: {} },
    { id: 'k0c', name: 'send', input: {} },
  ],
  [{ id: 'k1a', name: 'ask', input: {} }],
]

/** The text of a turn names its calls, so that a reader can tell whether it is complete. */
export function announcementOf(step: number, calls: readonly PlannedCall[]): string {
  return `Step ${step}: ${calls.map(({ id }) => id).join(' ')}. Over.`
}

/** What is wrong with a turn of the planned model; `undefined` if nothing is. */
export function flawOf(content: readonly SessionContentBlock[]): string | undefined {
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const announced = /^Step \d+: ([^.]*)\. Over\.$/.exec(text)
  if (!announced) return `its text is not complete: "${text}"`
  const calls = content.flatMap((block) => (block.type === 'tool_call' ? [block.id] : [])).join(' ')
  return calls === announced[1] ? undefined : `it announces the calls "${announced[1]}" and has "${calls}"`
}
